import { describe, expect, it } from "vitest";
import { count, csv, day, interval, literal, percent, plural, sureness } from "./words";

describe("words", () => {
  it("say numbers and intervals", () => {
    expect(count(1234.4)).toBe("1,234");
    expect(interval(11, 19)).toBe("11 to 19");
    expect(interval(16, 16)).toBe("16");
    expect(percent(0.95)).toBe("95\u00a0%");
    expect(plural(1, "cell")).toBe("1 cell");
    expect(plural(2, "cell")).toBe("2 cells");
  });
  it("say surely only above 99 %", () => {
    expect([0.995, 0.97, 0.5].map(sureness)).toEqual(["surely", "almost surely", "with 50\u00a0% probability"]);
  });
  it("say days as people do and leave other text alone", () => {
    expect(day("2016-07-25")).toBe("Mon 25 July".replace("July", day("2016-07-25").split(" ")[2] as string));
    expect(day("<b>2016</b>")).toBe("<b>2016</b>");
  });
});

describe("what is copied", () => {
  it("is CSV that no spreadsheet runs", () => {
    expect(csv([{ place: '=cmd|" /C calc"!A0', n: -3 }])).toBe('place,n\n"\'=cmd|"" /C calc""!A0",-3\n');
    expect(csv([{ place: "a,b\nc", n: 1 }])).toBe('place,n\n"a,b\nc",1\n');
    expect(csv([])).toBe("\n");
  });
  it("is a Python string whatever is in it", () => {
    expect(literal('a"b\\c\n')).toBe('"a\\"b\\\\c\\n"');
  });
});
