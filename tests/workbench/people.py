"""People at the workbench who click at random on everything that its pages offer, and remember what they were told is saved."""

import http.client
import json
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

import numpy as np

#: What a page is answered with: found, or under way.
SHOWN = {200, 202}
#: What nonsense is answered with: a sentence; the work may have to be done first.
SENTENCE = {202, 404, 409, 422}
_PAGES = ("files", "noise", "microscope", "map", "weeks", "findings", "compare", "ask")
_CSV = "age,area,count\n" + "".join(f"{a},{b},{7 * a + b}\n" for a in range(4) for b in range(5))


@dataclass(kw_only=True)
class Memory:
    """What people saw and saved, all of them together."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    busy: int = 0
    waits: list[float] = field(default_factory=list)
    remarks: dict[tuple[str, str], str] = field(default_factory=dict)
    uploads: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)


class Person:
    """One session: a cookie of its own, a release of its own choice, and a way of its own through the pages."""

    def __init__(self, seed, address, cases, memory):
        self.host, self.token = address
        self.rng, self.seed, self.cases, self.memory = np.random.default_rng(seed), seed, cases, memory
        self.saved, self.dropped, self.line, self.cookie = 0, [], None, ""

    def live(self, ends, think):
        """Click until it is over; a server that was taken away ends it too."""
        with closing(http.client.HTTPConnection(self.host, timeout=120)) as line:
            self.line = line
            try:
                self.enter()
                while time.monotonic() < ends():
                    self.click()
                    time.sleep(float(self.rng.exponential(think)))
            except (OSError, http.client.HTTPException) as problem:
                if time.monotonic() < ends():
                    self.memory.wrong.append(f"the server went away: {problem!r}")

    def enter(self):
        """Open the printed address, as a browser does: the token becomes a cookie."""
        self.line.request("GET", f"/?token={self.token}")
        answer = self.line.getresponse()
        answer.read()
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def ask(self, kind, path, content=None, *, fine=SHOWN, octets=None, headers=None):
        """Ask for something; whatever is not foreseen is remembered."""
        data = octets if octets is not None else None if content is None else json.dumps(content)
        own = {"cookie": self.cookie, **({"origin": f"http://{self.host}"} if data is not None else {})}
        begun = time.monotonic()
        asked = ("GET" if data is None else "POST", path, data, {**own, **(headers or {})})
        try:
            self.line.request(*asked)
            answer = self.line.getresponse()
        except ConnectionError:
            # A line that nobody used for seconds is closed by servers; browsers open another.
            self.line.close()
            self.line.request(*asked)
            answer = self.line.getresponse()
        body = answer.read()
        self.memory.waits.append(time.monotonic() - begun)
        self.memory.statuses[kind, answer.status] += 1
        self._judge(kind, path, answer.status, body, fine)
        return answer.status, body

    def _judge(self, kind, path, status, body, fine):
        if status >= 400 and b"Too much work waits" in body:
            self.memory.busy += 1
        elif status not in fine:
            self.memory.wrong.append(f"{kind} {path}: {status} {body[:200]!r}")
        elif status in {404, 409, 422} and not {"error", "id"} <= set(json.loads(body)):
            self.memory.wrong.append(f"{kind} {path}: {status} without a sentence")

    def watch(self, kind, path, *, fine=SHOWN):
        """Open a page and wait for its work as the pages do; some leave before, some cancel."""
        status, body = self.ask(kind, path, fine=fine)
        for _ in range(40):
            if status != 202 or self.rng.random() < 0.1:
                return
            job = json.loads(body)["job"]["id"]
            if self.rng.random() < 0.03:
                self.ask("cancel", f"/jobs/{job}/cancel", {})
                return
            time.sleep(0.3)
            self.ask("job", f"/jobs/{job}.json", fine={200, 404})
            status, body = self.ask(kind, path, fine=fine)

    def click(self):
        """Do one thing of many."""
        doing = (
            [self.page] * 8
            + [self.look] * 8
            + [self.question] * 3
            + [self.custody] * 4
            + [self.say] * 3
            + [self.change, self.drop, self.nonsense, self.take_along]
        )
        doing[int(self.rng.integers(len(doing)))]()

    def any(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def page(self):
        """Any page of any release, or the start."""
        case = self.any(*self.cases.values())
        name = self.any(*_PAGES)
        if self.rng.random() < 0.2:
            self.ask("html", self.any("/", f"/r/{case}/{name}", "/assets/index.css"), fine={200})
        if self.rng.random() < 0.2:
            self.ask("start", "/start.json", fine={200})
        elif name == "ask":
            self.watch("ask", f"/r/{self.cases['week']}/ask.json")
        elif name == "microscope":
            # Where the noise is not known, the page says so instead of a map.
            rows = quote(self.any("area", "age", "sex", "stop", "hour"))
            self.watch("map of cells", f"/r/{case}/microscope.json?rows={rows}", fine=SHOWN | SENTENCE)
        else:
            self.watch(name, f"/r/{case}/{name}.json")
        self.watch("attacker", f"/r/{case}/attacker.json")

    def look(self):
        """One cell closely, with and without tables."""
        case, cell = self.any(*self.cases.values()), int(self.rng.integers(0, 36))
        for without in ([], [self.any("by area", "stops")], []):
            asked = urlencode({"cell": cell, "without": json.dumps(without)})
            self.ask("cell", f"/r/{case}/cell.json?{asked}", fine=SHOWN | SENTENCE)

    def question(self):
        case = self.cases["week"]
        where = {"mode": [self.any("bus", "ferry", "train")], "hour": [self.any("early", "peak", "late")]}
        form = self.any("total", "difference", "ratio")
        asked = {"where": json.dumps(where), "form": form, "by": self.any("", "stop")}
        if form != "total":
            asked["to"] = json.dumps({"mode": [self.any("bus", "train")]})
        self.watch("answer", f"/r/{case}/answer.json?{urlencode(asked)}")
        if self.rng.random() < 0.2:
            del asked["by"]
            self.watch("draws", f"/r/{case}/draws.json?{urlencode(asked)}")

    def custody(self):
        """The custodian's pages; nothing is published."""
        case, kind = self.cases["leaky"], int(self.rng.integers(6))
        spec, events = self.cases.spec, self.cases.events
        if kind == 0:
            self.watch("price", f"/price/{spec}.json")
            self.watch("attacks", f"/price/{spec}/attacks.json")
        elif kind == 1:
            self.watch("ledger", "/ledger.json")
        elif kind == 2:
            self.ask("interview", f"/interview/{events}.json")
            self.ask("judge", f"/interview/{events}/judge", {"text": self.any("name: x", "[", "{}", "a: ??")})
        elif kind == 3:
            do = self.any("", "zeros", "zeros,totals", "person", "totals,person")
            self.watch("fix", f"/r/{case}/fix.json?do={do}&max_cells={self.any(1, 4, 12)}")
        elif kind == 4:
            self.ask("publish", "/publish", {"spec": spec, "do": "zeros", "confirm": "no"}, fine={422})
        else:
            table = self.any("cells", "stops")
            law = self.any("laplace", "discrete-gaussian")
            asked = urlencode({"table": table, "law": law})
            self.ask("rival", f"/r/{self.cases['leaky']}/rival.json?{asked}", fine=SHOWN | SENTENCE)

    def say(self):
        """Judge a finding; what was told to be saved is remembered."""
        case, key = self.any(*self.cases.values()), f"p{self.seed}-{self.rng.integers(4)}"
        self.saved += 1
        said, mark = f"{self.saved} from {self.seed} <b>", f"{case}/{key}"
        self.memory.doubtful.add(mark)
        verdict = self.any("accepted", "rejected", "")
        content = {"finding": key, "verdict": verdict, "comment": said, "by": f"p{self.seed}"}
        self.ask("remark", f"/r/{case}/remarks", content, fine={200})
        self.memory.remarks[case, key] = said
        self.memory.doubtful.discard(mark)
        if self.rng.random() < 0.1:
            self.ask("sign", f"/r/{case}/sign", {"by": f"p{self.seed}"}, fine={200})

    def change(self):
        """Say something that makes a release be worked out anew."""
        case = self.any(self.cases["towns"], self.cases["villages"])
        kind = int(self.rng.integers(4))
        if kind == 0:
            noise = self.any("laplace:1.4", "laplace:1.5", "laplace:1.6")
            self.ask("noise", f"/r/{case}/attack", {"noise": noise}, fine={200})
        elif kind == 1:
            decisions = self.any("", "encoding: utf-8\n")
            self.ask("decisions", f"/r/{case}/decisions", {"decisions": decisions}, fine={200, 422})
        else:
            self.ask("dial", "/dial", {"known": self.any(0, 1, 4, 40)}, fine={200})

    def drop(self):
        """Drop a file, look at how it was read, and mostly discard it again."""
        mark = "=-soak-="
        octets = (
            f'--{mark}\r\nContent-Disposition: form-data; name="files"; filename="p{self.seed}.csv"\r\n'
            f"Content-Type: text/csv\r\n\r\n{_CSV}\r\n--{mark}--\r\n"
        ).encode()
        headers = {"content-type": f"multipart/form-data; boundary={mark}"}
        status, body = self.ask("upload", "/uploads", octets=octets, headers=headers, fine={201, 422})
        if status == 201:
            number = json.loads(body)["case"]["id"]
            self.dropped.append(number)
            self.memory.uploads.add(number)
            self.watch("files", f"/r/{number}/files.json")
        while len(self.dropped) > 1:
            number = self.dropped.pop(0)
            self.memory.uploads.discard(number)
            self.ask("discard", f"/r/{number}/discard", {}, fine={200})

    def take_along(self):
        """Export the report, or keep the pages as one file."""
        case, kind = self.any(*self.cases.values()), self.any("report", "kept")
        self.watch(kind, f"/r/{case}/{kind}.json")
        if self.rng.random() < 0.3:
            self.ask(f"{kind}.html", f"/r/{case}/{kind}.html")

    def nonsense(self):
        """What no page of ours asks for."""
        case = self.cases["towns"]
        self.ask("nonsense", f"/r/{case}/nonsense.json", fine={404})
        self.ask("nonsense", f"/r/{case}/cell.json?cell=-2&without=%7B", fine=SENTENCE)
        self.ask("nonsense", "/dial", {"known": -1}, fine={422})
        self.ask("nonsense", f"/r/{case}/attack", {"noise": "nonsense"}, fine={422})
        self.ask("stranger", "/start.json", fine={403}, headers={"cookie": "noisegate-1=x"})
        self.ask("stranger", "/dial", {"known": 9}, fine={403}, headers={"origin": "http://elsewhere"})
        self.ask("stranger", "/start.json", fine={421}, headers={"host": "elsewhere"})
