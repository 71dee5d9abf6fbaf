import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  base: "/",
  build: {
    outDir: "../src/noisegate/workbench/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
    rollupOptions: {
      output: {
        // One script, one sheet, names without digests: the server tells browsers to ask again after a new version.
        entryFileNames: "assets/workbench.js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
