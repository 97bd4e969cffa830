"""What the scripts run, as JSON: the step list, the given values, the runs, and the words.

What all pages share is a script of its own, so that it is loaded once; each page carries what it uses beyond that.
`static/js/engine.js` runs both. Model knowledge stays in Python: the scripts know the operations, not the model.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from markupsafe import Markup

from sevensteps.engine.steps import AXES, LAB_AXES, Step, Trace
from sevensteps.engine.toy import END, Toy
from sevensteps.engine.toyruns import RunSpec, own_patch
from sevensteps.entries import ENTRIES
from sevensteps.explain import NOTHING_TO_CALCULATE, WORDS
from sevensteps.refs import FROM_ZERO, POSITION_AXES, Runs

FILE = "static/toy.js"
#: Given anew by every text, so not carried.
OF_THE_TEXT = ("ids", "targets", "size.tokens")
NOT_CALCULATED = ("given", "recorded")
_REFS = re.compile(r'data-(?!line)[a-z-]+="([^"]*)"')
_REF = re.compile(r"[\w.]+")
_CONTROL = re.compile(r'data-edit="([\w.]+)"')
#: Words of a run's name that read otherwise.
_SPELLED = {"mlp": "MLP", "layer norm": "LayerNorm", "tied": "tied read-out"}


def shared_data(toy: Toy, runs: Runs, turned: Iterable[str]) -> str:
    """The script with what all pages need: the forward pass, the given values, the runs and the words."""
    main = runs.traces["main"]
    steps = toy.steps()
    data = {
        "vocabulary": toy.vocabulary,
        "end": toy.vocabulary.index(END) if END in toy.vocabulary else None,
        "activation": toy.activation,
        "steps": [_row(main, step) for step in steps],
        "axes": AXES + LAB_AXES,
        "fromZero": FROM_ZERO,
        "dials": list(turned),
        "switches": list(switches(toy)),
        "given": _given(main, steps),
        "patch": dict(toy.runs["main"].patch),
        "runs": {name: _spec(toy, name, spec) for name, spec in toy.runs.items()} | _scenes(toy, runs),
        "entries": ENTRIES,
        "words": WORDS,
        "nothing": NOTHING_TO_CALCULATE,
    }
    return f"const TOY = {_json(data)};\n"


def live_data(toy: Toy, runs: Runs, recorded: Mapping[str, Trace], html: str) -> Markup:
    """The JSON of one page: the derived steps that it uses, with the values given to them, and recorded values."""
    forward = {step.name: step for step in toy.steps()}
    named = " ".join(_REFS.findall(html))
    wanted = set(map(_value, _REF.findall(named)))
    used = {run: list(_used(trace, forward, wanted)) for run, trace in runs.traces.items()}
    everywhere = [step for step in used["main"] if step.op == "given" and all(step in steps for steps in used.values())]
    own = {run: [step for step in steps if step not in everywhere] for run, steps in used.items()}
    sources = [("main", everywhere), *own.items()]
    rows = {"": everywhere} | {run: steps for run, steps in own.items() if steps}
    data = {
        "derived": {run: [_row(runs.traces[run or "main"], step) for step in steps] for run, steps in rows.items()},
        "given": {name: value for run, steps in sources for name, value in _given(runs.traces[run], steps).items()},
    }
    if shown := {run: steps for run, trace in recorded.items() if (steps := _named(trace, named))}:
        data["derived"] |= {run: [_row(recorded[run], step) for step in steps] for run, steps in shown.items()}
        data["recorded"] = {
            run: _scene(recorded[run]) | {"given": _given(recorded[run], steps)} for run, steps in shown.items()
        }
    return Markup(_json(data))


def _named(trace: Trace, named: str) -> list[Step]:
    """The steps of a recorded run that refs name (`capital/top.p.0`), and those that they are made from."""
    refs = re.findall(rf"(?<![\w.]){trace.run}/([\w.]+)", named)
    wanted = {trace.split(ref)[0] for ref in refs}
    for step in reversed(list(trace.steps.values())):
        if step.name in wanted:
            wanted |= {trace.split(ref)[0] for ref in step.inputs}
    return [step for step in trace.steps.values() if step.name in wanted]


def _scene(trace: Trace) -> dict[str, Any]:
    """What a run has that is no run of the toy: words of its own, and a text."""
    return {"vocabulary": trace.vocabulary, "tokens": trace.tokens}


def _json(data: Mapping[str, Any]) -> str:
    """JSON that is safe inside <script>."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _given(trace: Trace, steps: Iterable[Step]) -> dict[str, Any]:
    """The values of the steps that calculate nothing."""
    names = [step.name for step in steps if step.op in NOT_CALCULATED and step.name not in OF_THE_TEXT]
    return {name: _plain(trace.values[name].tolist()) for name in names}


def dials(toy: Toy, runs: Runs, pages: Iterable[str]) -> list[str]:
    """The refs of numbers beyond the toy that some page has a control for. A state with them passes every page."""
    controls = {ref for html in pages for ref in _CONTROL.findall(html)}
    given = {step.name for trace in runs.traces.values() for step in trace.steps.values() if step.op == "given"}
    beyond = given - {step.name for step in toy.steps()}
    return sorted(ref for ref in controls if _value(ref) in beyond)


def switches(toy: Toy) -> dict[str, str]:
    """Runs that have nothing but a patch, which a reader may switch on in all others: what each is called."""
    names = [name for name, spec in toy.runs.items() if name != "main" and list(_spec(toy, name, spec)) == ["patch"]]
    return {name: _called(name.replace("_", " ")) for name in names}


def _called(words: str) -> str:
    for written, spelled in _SPELLED.items():
        words = re.sub(rf"\b{written}\b", spelled, words)
    return words


def _scenes(toy: Toy, runs: Runs) -> dict[str, Any]:
    """Runs that are no run of the toy: words and given values of their own."""
    names = (name for name in runs.traces if name not in toy.runs and name != "generated")
    return {name: _scene(runs.traces[name]) for name in names}


def _used(trace: Trace, forward: Mapping[str, Step], named: set[str]) -> Iterator[Step]:
    """The steps beyond the forward pass that the page's refs name, and those that they are made from."""
    wanted = set(named)
    more = [step for step in trace.steps.values() if step.name not in forward]
    for step in reversed(more):
        if step.name in wanted:
            wanted |= set(map(_value, step.inputs))
    return (step for step in more if step.name in wanted)


def _value(ref: str) -> str:
    """The value's name in a ref of a derived value: its index taken off."""
    return ref.partition(".")[0]


def _row(trace: Trace, step: Step) -> str:
    """A step's fields behind each other, as engine.js reads them; what is empty at the end is left out."""
    inputs = " ".join(_lasting(trace, ref) for ref in step.inputs)
    axes = " ".join(str((AXES + LAB_AXES).index(axis)) for axis in step.axes)
    row = [step.name, step.op, inputs, step.symbol, step.title, str(step.page), axes, " ".join(step.via)]
    return "~".join(row).rstrip("~")


def _lasting(trace: Trace, ref: str) -> str:
    """A ref in which the last position is called so: it stays the last one when the text grows."""
    name, index = trace.split(ref)
    axes = trace.steps[name].axes
    last = len(trace.tokens) - 1
    items = ("last" if axis in POSITION_AXES and i == last else str(i) for axis, i in zip(axes, index, strict=False))
    return ".".join((name, *items))


def _plain(value: Any) -> Any:
    """Nested lists with whole numbers as such: 1, not 1.0."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _spec(toy: Toy, name: str, spec: RunSpec) -> dict[str, Any]:
    """What a run says itself."""
    main = toy.runs["main"]
    own: dict[str, Any] = {}
    if name == "main" or spec.ids != main.ids:
        own["ids"] = spec.ids
    if name == "main" or spec.targets[-1] != main.targets[-1]:
        own["next"] = spec.targets[-1]
    if name != "main" and own_patch(toy.runs, name):
        own["patch"] = dict(own_patch(toy.runs, name))
    return own
