/** One build for all pages: each page is an entry, and Preact is a separate chunk. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  // All files are served from the root of the server.
  base: "/",
  resolve: {
    // React's runtime is 67 KB compressed, which exceeds the budget; see also `tsconfig.json`.
    alias: { "react-dom/client": "preact/compat/client", "react-dom": "preact/compat", react: "preact/compat" },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    // The content security policy forbids inline assets, and separate files are cached better.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The binary contains the bundled packages, so their licenses are included.
    license: { fileName: "licenses.md" },
    rolldownOptions: {
      input: { index: "index.html", debate: "debate.html", suggestions: "suggestions.html", assistant: "assistant.html", scheduler: "scheduler.html" },
      output: { codeSplitting: { groups: [{ name: "runtime", test: /node_modules[\\/]preact[\\/]/ }] } },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
