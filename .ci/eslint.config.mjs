// ESLint's recommended rules for the scripts of the pages. Only .ci/run needs Node; readers and authors do not.
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// npx keeps these packages beside ESLint itself.
const require = createRequire(realpathSync(process.argv[1]));
const { configs } = require("@eslint/js");
const { browser } = require("globals");

const folder = join(import.meta.dirname, "..", "static", "js");
const files = readdirSync(folder);
/** Classic scripts share their top-level declarations, which begin at the start of a line. */
const declared = (file) =>
  [...readFileSync(join(folder, file), "utf8").matchAll(/^(?:async )?(?:const|let|class|function\*?) +(\w+)/gm)].map(
    ([, name]) => [name, "readonly"],
  );
/**
 * A script may use what the others declare, and must not declare it again. Only the state of the toy is replaced.
 * The build writes what all pages know of the toy.
 */
const globalsOf = (file) => ({
  ...Object.fromEntries(files.filter((other) => other !== file).flatMap(declared)),
  ...(file === "state.js" ? { live: "writable" } : {}),
  ...(file === "engine.js" ? { TOY: "readonly" } : {}),
});

export default [
  configs.recommended,
  {
    languageOptions: { sourceType: "script", ecmaVersion: 2023, globals: browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      strict: ["error", "global"],
      // What is declared at the top may be another script's.
      "no-unused-vars": ["error", { vars: "local" }],
      "no-console": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-var": "error",
    },
  },
  ...files.map((file) => ({ files: [`**/${file}`], languageOptions: { globals: globalsOf(file) } })),
];
