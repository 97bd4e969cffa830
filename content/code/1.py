# Given: vocabulary (a list of tokens), text.
rest, ids = text.replace(" ", "␣"), []
while rest:
    fits = [token for token in vocabulary if rest.startswith(token)]
    longest = max(fits, key=len)  # an empty list stops here: no token fits
    ids.append(vocabulary.index(longest))  # ids count from 0
    rest = rest[len(longest):]
