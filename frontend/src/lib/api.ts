/** Asking the server, and watching work that takes a while. */

import { answer, embedded, GONE } from "./kept";
import { read, real, realAddress } from "./marks";
import type { Job } from "./types";

const kept = embedded();
/** Whether this page was kept as one file, so that nothing can be asked or changed. */
export const alone = kept !== null;

/** Whether a kept page has the answer to this address. */
export const holds = (path: string): boolean => kept === null || path in kept.pages;

export class Problem extends Error {
  constructor(
    message: string,
    readonly id: string,
  ) {
    super(message);
  }
}

interface Answer {
  error?: string;
  id?: string;
  job?: Job;
}

const early = new Map<string, Promise<Response>>();

/** Ask already for what a page will need, while it is still being built. */
export function askEarly(path: string): void {
  if (!kept) early.set(path, fetch(realAddress(path), { credentials: "same-origin" }));
}

async function asked(path: string, options?: RequestInit): Promise<{ status: number; body: Answer }> {
  if (kept) {
    const reply = answer(kept, path);
    if ("missing" in reply) throw new Problem(reply.missing, GONE);
    return { status: 200, body: reply.found as Answer };
  }
  let reply: Response;
  try {
    const begun = options ? undefined : early.get(path);
    early.delete(path);
    reply = await (begun ?? fetch(realAddress(path), { credentials: "same-origin", ...options }));
  } catch {
    throw new Problem("The server does not answer. Start it again with 'noisegate serve' and open the address that it prints.", "offline");
  }
  if (reply.status === 403) {
    throw new Problem("This session is over. Open the address that 'noisegate serve' printed last.", "session");
  }
  let body: Answer;
  try {
    body = read(await reply.text()) as Answer;
  } catch {
    throw new Problem("The server's answer cannot be read. Reload the page.", `http-${reply.status}`);
  }
  if (body.error) throw new Problem(body.error, body.id ?? "none");
  return { status: reply.status, body };
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** What a page's twin says; `watch` is told how far work is as long as it is under way. */
export async function load<T>(path: string, watch: (job: Job | null) => void = () => {}, alive: () => boolean = () => true): Promise<T> {
  for (let wait = 150; ; wait = Math.min(wait * 1.4, 1000)) {
    const { status, body } = await asked(path);
    if (status !== 202) {
      watch(null);
      return body as T;
    }
    const job = body.job as Job;
    watch(job);
    await pause(wait);
    if (!alive()) throw new Problem("left", "left");
    const now = (await asked(`/jobs/${job.id}.json`)).body.job as Job & Answer;
    watch(now);
    if (now.standing === "cancelled") throw new Problem("This was cancelled. Reload the page to start it again.", "cancelled");
    if (now.standing === "failed" && now.error) throw new Problem(now.error, now.id);
  }
}

export async function send<T>(path: string, content: unknown): Promise<T> {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: real(JSON.stringify(content)) };
  return (await asked(path, options)).body as T;
}

export async function upload<T>(files: Iterable<File>): Promise<T> {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  return (await asked("/uploads", { method: "POST", body: form })).body as T;
}
