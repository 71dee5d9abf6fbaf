import { mount } from "svelte";

import "./app.css";
import App from "./App.svelte";
import { alone, askEarly } from "./lib/api";
import { here, mapPath } from "./lib/route.svelte";

if (!alone) {
  askEarly("/start.json");
  if (here.place.page === "microscope") askEarly(mapPath(here.place));
}
const target = document.getElementById("app");
if (target) mount(App, { target });
