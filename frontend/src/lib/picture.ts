/** Answers as a picture that can be put into a paper: drawn here, saved as a PNG file. */

export interface Line {
  label: string;
  low: number;
  high: number | null;
  estimate: number | null;
  said: string;
  weak: boolean;
}

/** The ends of the axis for these lines; 0 is always on it. */
export function ends(lines: Line[]): [number, number] {
  const low = Math.min(0, ...lines.map((one) => one.low));
  const high = Math.max(1, ...lines.map((one) => one.high ?? one.low));
  return [low, high > low ? high : low + 1];
}

const WIDE = 900;
const ROW = 30;
const LEFT = 220;
const RIGHT = 250;

export function draw(context: CanvasRenderingContext2D, title: string, below: string, lines: Line[]): void {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const high = 70 + lines.length * ROW + 20;
  context.fillStyle = colour("--surface");
  context.fillRect(0, 0, WIDE, high);
  context.fillStyle = colour("--ink");
  context.font = `500 20px ${colour("--serif")}`;
  context.fillText(title, 20, 32, WIDE - 40);
  context.font = `400 13px ${colour("--sans")}`;
  context.fillStyle = colour("--ink-2");
  context.fillText(below, 20, 54);
  const [from, to] = ends(lines);
  const x = (value: number) => LEFT + ((WIDE - LEFT - RIGHT) * (value - from)) / (to - from);
  lines.forEach((one, k) => {
    const y = 80 + k * ROW;
    context.globalAlpha = one.weak ? 0.5 : 1;
    context.fillStyle = colour("--ink");
    context.font = `400 14px ${colour("--sans")}`;
    context.fillText(one.label, 20, y + 5, LEFT - 30);
    context.fillText(one.said, WIDE - RIGHT + 14, y + 5, RIGHT - 24);
    context.fillStyle = colour("--pub-2");
    context.fillRect(x(one.low), y - 4, Math.max(2, x(one.high ?? to) - x(one.low)), 8);
    if (one.estimate !== null) {
      context.fillStyle = colour("--pub");
      context.fillRect(x(one.estimate) - 1.5, y - 8, 3, 16);
    }
    context.globalAlpha = 1;
  });
}

export async function picture(title: string, below: string, lines: Line[]): Promise<void> {
  const canvas = document.createElement("canvas");
  canvas.width = WIDE * 2;
  canvas.height = (90 + lines.length * ROW) * 2;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(2, 2);
  draw(context, title, below, lines);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = "answers.png";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
