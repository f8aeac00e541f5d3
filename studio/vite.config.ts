/** One build for all pages: each page is an entry, the runtime they share is a chunk of its own. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  // Everything is served from the root of the server's own origin.
  base: "/",
  resolve: {
    // React's own runtime is 67 KB compressed, over the page's budget; this is the one place that knows.
    alias: { "react-dom/client": "preact/compat/client", "react-dom": "preact/compat", react: "preact/compat" },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    // The server's content policy forbids what is inlined, and a stable file is cached better.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What is built in goes out with the binary, and so do its licences.
    license: { fileName: "licenses.md" },
    rolldownOptions: {
      input: { index: "index.html", debate: "debate.html", suggestions: "suggestions.html", assistant: "assistant.html", scheduler: "scheduler.html" },
      output: { codeSplitting: { groups: [{ name: "runtime", test: /node_modules[\\/]preact[\\/]/ }] } },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
