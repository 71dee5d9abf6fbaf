/** What the server sends: the twins in JSON of every page. */

import type { CellNumbers } from "./pixels";

export interface Case {
  id: string;
  name: string;
  files: string[];
  card: boolean;
  timetable: boolean;
  uploaded: boolean;
}
export interface Listed extends Case {
  open: boolean;
  signed: string;
}
export interface Start {
  folder: string;
  custodian: boolean;
  dial: { timetable: boolean; known: number };
  cases: Listed[];
}
export interface Job {
  id: string;
  title: string;
  standing: "waiting" | "running" | "done" | "failed" | "cancelled";
  step: string;
  seconds: number;
}
export interface OfCase {
  case: Case;
  timetable: boolean;
  known: number;
  noise: string;
}
export interface Sure {
  low: number;
  high: number;
  baseline: number;
  from: string;
  tables: string[];
  assumes: string;
}
export interface JourneysPage extends OfCase {
  places: { label: string; lat: number; lon: number; modes: string[]; leaked: number; published: number; hidden: number; alone: number }[];
  lines: [string, string][];
  why: string;
  matched?: string;
  place: {
    label: string;
    held: Record<string, { name: string; at: string; values: string[] }>;
    rows: { cell: number; time: string; slot: number; scheduled: number; possible: number; state: StateName; low: number; high: number; published: number | null }[];
  } | null;
}
export interface RivalPage extends OfCase {
  law: string;
  scales: number[];
  log_likelihood: number[];
  expected: number[][];
}
export interface WeeksPage extends OfCase {
  trips: number;
  why: string;
  sure: { week: number; low: number; high: number }[];
  weeks: {
    horizon: number;
    level: number;
    assumes: string[];
    zeros_known: boolean;
    detection: { group: number; pattern: string; occasions_per_week: number; chance: number; by_week: number[]; weeks_until: Record<string, number | null> }[];
    width: { count: number; parts: number; level: number; by_week: number[]; pinned_by_week: number[] } | null;
    loss: { who: string; events_per_week: number; by_week: { week: number; linear: number | null; tight: number | null; delta: number; shown: number }[] }[];
  } | null;
}
export interface FixPage extends OfCase {
  specs: SpecListed[];
  spec: string | null;
  draft: { name: string; file: string; diff: { sign: string; text: string }[]; problem: string | null; changed: boolean } | null;
  fixes?: { key: string; title: string; costs: string; answers: string[]; able: boolean; on: boolean }[];
  asks?: { name: string; says: string; value: number }[];
  findings?: { id: string; severity: "low" | "medium" | "high"; title: string; advice: string }[];
}
export interface Amount {
  epsilon: number;
  delta: number;
}
export interface Population {
  name: string;
  units: Record<string, { budget: Amount | null; spent: Amount | null; tight: Amount | null; left: Amount | null; unbounded: number; unknown: number }>;
  releases: { release: string; state: string; unit: string; at: string; folder: string; losses: Record<string, Amount | null>; days: { from: string; to: string } | null; by: string[] }[];
}
export interface LedgerPage {
  exists: boolean;
  populations: Population[];
}
export interface InterviewList {
  events: { id: string; name: string }[];
}
export interface InterviewPage {
  name: string;
  text: string;
  questions: { line: number; nth: number; key: string; why: string }[];
}
export interface Detail {
  name: string;
  kind: string;
  written: string;
  values: number;
  shown: number;
  first: string;
  last: string;
  unknown: string[];
}
export interface Noise {
  law: string | null;
  scale: number | null;
  interval: [number, number] | null;
  level: number;
  rounding: string | null;
  n: number;
  curve: { difference: number[]; observed: number[]; expected: number[]; simulated: number[] } | null;
  evidence: { statement: string; laws: Record<string, number>; identities: { title?: string; n?: number }[]; assumes: string[] };
}
export interface TableFacts {
  name: string;
  role: string;
  files: string[];
  rows: number;
  dimensions: string[];
  domain_size: number;
  suppressed: number;
  hidden: number;
  threshold: { value: number | null; rule: string | null; certainty?: number };
  count_column: string;
  dialect: string;
  details: Detail[];
  markers: { text: string; cells: number; absent: boolean; low?: number; high?: number | null }[];
  set_aside: { rows?: number; reason?: string }[];
  extra: { name: string; reason: string }[];
  notes: string[];
  link: { base: string; summed: string[]; coarser: string[]; comparable: number; complete: number; unlisted: string[] } | null;
  noise: Noise;
  mechanism: { kind: string; evidence: string; rounding_base: number | null } | null;
}
export interface Finding {
  key: string;
  id: string;
  severity: "low" | "medium" | "high";
  title: string;
  evidence: string[];
  assumptions: string[];
  advice: string;
  baseline: Record<string, unknown>;
}
export interface Check {
  id: string;
  outcome: string;
  title: string;
  evidence: string[];
}
export interface Remark {
  verdict: string;
  comment: string;
  by: string;
  at: string;
}
export type StateName = "impossible" | "empty" | "hidden" | "occupied" | "sharp" | "exact" | "published";
export interface FilesPage extends OfCase {
  tables: TableFacts[];
  left_out: string[];
  privacy: Record<string, unknown> & { event_epsilon?: number | null; person_epsilon?: number | null };
  inference: { mechanisms: Record<string, { law: string; scale?: number | string | null }>; left_out: { table: string; reason: string }[]; couplings: number } | null;
  not_examined: Record<string, string>;
  findings: Finding[];
  checks: number;
  proved: boolean;
  states: Partial<Record<StateName, number>>;
  couplings: string[];
  card: { agrees: string[]; disagrees: string[] };
  decisions: string;
}
export interface NoisePage extends OfCase {
  tables: TableFacts[];
  level: number;
}
export interface FindingsPage extends OfCase {
  findings: Finding[];
  checks: Check[];
  remarks: Record<string, Remark>;
  signed_by: string;
  signed_at: string;
}
export interface Filter {
  name: string;
  kind: string;
  at: string;
  values: { label: string; shown: string; leaked: number }[];
}
export interface MapPage extends OfCase {
  view: { rows: string; columns: string | null; at: Record<string, string> };
  dimensions: { name: string; size: number; kind: string }[];
  filters: Filter[];
  rows: { label: string; group: string }[];
  columns: string[];
  cells: { cell: CellNumbers; state: string; low: string; high: string; shown: string };
  counts: Record<StateName, number>;
  level: number;
  threshold: number | null;
  table: string;
  tables: string[];
  left_out: { table: string; reason: string }[];
  assumes: string[];
  first: number | null;
  sharpest: number[];
}
export interface Law {
  first: number;
  probabilities: number[];
  low: number;
  high: number;
  mode: number;
  mean: number;
  p_zero: number;
}
export interface Witness {
  name: string;
  where: Record<string, string>;
  total: number | null;
  printed: number;
  printed_sum: number;
  hidden: number;
  threshold: number | null;
  same: { cell: Record<string, string>; published: number | null }[];
  otherwise: Law | null;
  disagrees: boolean;
}
export interface Look {
  cell: number;
  labels: Record<string, string>;
  state: StateName;
  published: number | null;
  threshold: number | null;
  level: number;
  law: Law | null;
  alone: Law | null;
  witnesses: Witness[];
  left_out: string[];
  proof?: string[];
  neighbours: number;
  whole: boolean;
}
export interface AskPage {
  name: string;
  dimensions: { name: string; labels: string[]; kind: string }[];
}
export interface Answers {
  rows: Record<string, string | number | boolean | null>[];
  groups: number;
  level: number;
  table: string;
}
export interface SpecListed {
  id: string;
  name: string;
}
export interface PriceList {
  specs: SpecListed[];
}
export interface AttacksPage {
  sure: { whose: string; points: [number, number][] }[];
}
export interface PricePage {
  name: string;
  unit: string;
  epsilon: number;
  max_cells: number | null;
  law: string;
  days: number;
  assumes: string | null;
  own_questions: boolean;
  questions: { name: string; reason: string | null; wanted: number | null; curve: [number, number][] }[];
}
