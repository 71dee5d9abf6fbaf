import { mount } from "svelte";

import "./app.css";
import App from "./App.svelte";
import { alone, askEarly } from "./lib/api";
import { here, mapPath } from "./lib/route.svelte";
import { target } from "./lib/within";

if (!alone) {
  askEarly("/start.json");
  if (here.place.page === "microscope") askEarly(mapPath(here.place));
}
const place = target();
if (place) mount(App, { target: place });
