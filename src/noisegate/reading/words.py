"""Words that offices use: for totals, ages, sexes, years, for what is counted and for what is no count.

A word alone decides nothing: a total must add up, and a column that is named like a proportion must not hold whole numbers only.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cache

from noisegate.tables import folded


def words_of(text: str, /) -> frozenset[str]:
    """The words of a list that is written with commas."""
    return frozenset(text.split(", "))


#: Words for "all of them", whatever is counted.
TOTAL_WORDS = words_of(
    "total, totals, grand total, subtotal, all, both, both sexes, overall, persons, people, any, sum, _t, gesamt, "
    "insgesamt, ensemble, totaal, totale, totalt, yhteensä, ogółem, celkem, összesen, m+f, male and female, men "
    "and women, national, nationwide, total population, todos, todas, ambos, ambos sexos, todas las edades, todas as "
    "idades, tous, toutes, tous âges, les deux sexes, hommes et femmes, alle, beide geschlechter, alle altersgruppen, "
    "alle leeftijden, mannen en vrouwen, i alt, samtliga, alla, begge kjønn, suma, razem, kokku, kopā, iš viso, skupaj, "
    "ukupno, total general, totale generale, всего, итого, toplam, σύνολο, 総数, 総計, 合計, 计, 总计, 合计, 합계, 계"
)
#: What may follow "all" in a total. A parish called All Saints is none.
_ALL_OF = words_of(
    "age, ages, people, persons, sexes, genders, modes, causes, areas, regions, states, stops, stations, types, "
    "categories, groups, districts, counties, municipalities, provinces, countries, years, months, days, hours, "
    "times, households, dwellings, students, patients, employees, workers, women, men, children, residents, "
    "occupations, industries, religions, ethnicities, diagnoses, reasons, grades, levels, sectors, sites, wards, "
    "hospitals, schools, providers, lines, routes, directions, purposes, races, origins, of, other, usual, "
    "ethnic, cause, deaths, births, cases, usual residents"
)
#: "All of them" where other languages are spoken; "all others" is no total.
_ALL_ELSEWHERE = re.compile(
    r"(?:alle|alla|tous|toutes|todos|todas|tutti|tutte|wszystkie|kaikki) (?:(?:les|los|las|os|as|i|gli|le) )?"
    r"(?!andere|übrig|andre|andra|øvrige|övriga|autres|otr|outr|altr|overige|pozosta|muut)\w+"
)
#: A country beside its parts is their total, if it adds up.
_COUNTRIES = words_of(
    "united states, united states of america, usa, us, u.s., england, england and wales, great britain, wales, cymru, "
    "united kingdom, uk, scotland, northern ireland, ireland, new zealand, australia, canada, germany, "
    "deutschland, france, españa, spain, italy, italia, netherlands, nederland, the netherlands, belgium, "
    "belgique, belgië, austria, österreich, switzerland, schweiz, suisse, svizzera, denmark, danmark, norway, "
    "norge, sweden, sverige, finland, suomi, iceland, poland, polska, czechia, czech republic, slovakia, hungary, "
    "portugal, greece, turkey, türkiye, israel, japan, korea, south korea, china, india, indonesia, malaysia, "
    "philippines, thailand, vietnam, brazil, brasil, mexico, méxico, chile, argentina, colombia, peru, south "
    "africa, kenya, nigeria, ghana, egypt, estonia, latvia, lithuania, slovenia, croatia, serbia, romania, "
    "bulgaria, ukraine, luxembourg, malta, cyprus, eu, european union, hong kong, singapore, taiwan, bangladesh, "
    "pakistan, sri lanka, nepal, world"
)

_NOTE_MARK = re.compile(r"\s*(?:\(\d{1,2}\)|\[(?:note\s*)?\d{1,2}\]|[¹²³⁴-⁹]+)(?=\s|$|[:;,])", re.IGNORECASE)


def without_notes(text: str, /) -> str:
    """The text without the marks of footnotes behind its words, such as (1), [note 2] or ³.

    Examples
    --------
    >>> without_notes("Total people stated(1)"), without_notes("Unit (3) left [note 2]")
    ('Total people stated', 'Unit left')
    """
    return _NOTE_MARK.sub("", text).strip() or text


@cache
def is_total(label: str, /, dimension: str = "") -> bool:
    """Whether a value is worded like a total over all others; `dimension` is what the column is called.

    Examples
    --------
    >>> is_total("All ages"), is_total("Total, both sexes"), is_total("All Saints"), is_total("All stops", "stop")
    (True, True, False, True)
    """
    word = folded(without_notes(label)).strip(" .:")
    if (
        word in TOTAL_WORDS
        or _ALL_ELSEWHERE.fullmatch(word)
        or re.match(r"(?:grand |sub-?)?totals?\b(?! ?park)", word)
        or re.search(r"\b(?:sub)?total$", word)
    ):
        return True
    if re.match(r"(?:both|all)\b", word):
        rest = re.split(r"[^\w]+", re.sub(r"^(?:both|all)\W+(?:of\W+)?(?:the\W+)?", "", word))
        about = {
            form for one in re.split(r"[^a-z]+", folded(dimension)) for form in (one, f"{one}s", f"{one}es")
        }
        return bool(rest) and (rest[0] in _ALL_OF or rest[-1] in _ALL_OF or rest[0] in about)
    return False


def is_country(label: str, /) -> bool:
    """Whether a value is the name of a country, which is a total where its parts stand beside it."""
    word = folded(without_notes(label))
    return word in _COUNTRIES or any(one in _COUNTRIES for one in word.split(" / ") if " / " in word)


_SEX = words_of(
    "male, female, males, females, m, f, men, women, man, woman, boys, girls, männlich, weiblich, homme, femme, "
    "hommes, femmes, hombres, mujeres, maschi, femmine, mannen, vrouwen, männer, frauen, other, x, intersex, "
    "indeterminate, non-binary, nonbinary, diverse, divers, not stated, unknown, hombre, mujer, homens, mulheres, "
    "homem, mulher, mænd, kvinder, menn, kvinner, män, kvinnor, miehet, naiset, mężczyźni, kobiety, muži, ženy, "
    "мужчины, женщины, erkek, kadın, 男, 女, 男性, 女性, 남자, 여자"
)
_SURE_SEX = _SEX - {"other", "x", "m", "f", "unknown", "not stated", "diverse", "divers"}
#: Months as offices write them, each with its shorter forms; a diagnosis such as sepsis is no September.
_MONTHS = words_of(
    "jan, january, feb, february, mar, march, apr, april, may, jun, june, jul, july, aug, august, sep, sept, september, oct, "
    "october, nov, november, dec, december, januar, jänner, jän, februar, märz, mär, mrz, mai, juni, juli, okt, oktober, "
    "dez, dezember, janvier, janv, février, févr, fév, mars, avril, avr, juin, juillet, juil, août, septembre, octobre, "
    "novembre, décembre, déc, enero, ene, febrero, marzo, abril, abr, mayo, junio, julio, agosto, ago, septiembre, "
    "setiembre, octubre, noviembre, diciembre, dic, janeiro, fevereiro, fev, março, maio, junho, julho, setembro, set, "
    "outubro, out, dezembro, gennaio, gen, febbraio, aprile, maggio, mag, giugno, giu, luglio, lug, settembre, ottobre, ott, "
    "dicembre, januari, februari, maart, mrt, mei, augustus, december, januar, februar, marts, maj, augusti, desember, des"
)
_MONTH = re.compile(
    rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?(?:[ -]?(?:\d{{2}}|\d{{4}}))?"
    r"|\d{4}[-/m ]?(?:0[1-9]|1[0-2])",
    re.IGNORECASE,
)
#: A year, or two; provisional, revised and estimated ones have a letter behind them.
_YEAR = re.compile(
    r"(?:fy\s?)?(?:19|20)\d{2}(?:\s?[-/–]\s?(?:\d{2}|\d{4}))?(?:\s?(?:[pre*]|\((?:[a-z]|prov\.?|rev\.?|est\.?)\)|\[[a-z]\]))?",
    re.IGNORECASE,
)
_QUARTER = re.compile(
    r"(?:19|20)\d{2}\s?[-/ ]?[qkt][1-4]|[qkt][1-4]\s?[-/ ]?(?:(?:19|20)?\d{2})?", re.IGNORECASE
)
_WEEK = re.compile(
    r"(?:(?:19|20)\d{2}\s?[-/ ]?)?(?:w|wk|week|kw|semaine|semana|uge|vecka|viikko)[\s_.-]?\d{1,2}(?:\s?[-/ ]?(?:19|20)\d{2})?",
    re.IGNORECASE,
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}")
_CLOCK = re.compile(r"\d{1,2}[:h]\d{2}(?:\s?[-–]\s?\d{1,2}[:h]\d{2})?")
_HOUR = re.compile(
    r"(?:hours?|hrs?|h)[\s_]?(?P<first>\d{1,2})(?:\s?[-–]\s?\d{1,2})?|(?P<morning>\d{1,2})\s?[ap]\.?m\.?(?:\s?[-–]\s?\d{1,2}\s?[ap]\.?m\.?)?"
    r"|(?P<french>\d{1,2})\s?h(?:\s?[-–à]+\s?\d{1,2}\s?h)?",
    re.IGNORECASE,
)
_HOURS = re.compile(r"(\d{2})\s?[-–]\s?(\d{2})")
_WEEKDAY = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:day)?s?|week ?days?|week ?ends?|(?:public |bank )?holidays?"
    r"|mon(?:day)?\s?(?:-|–|to)\s?(?:thu(?:rsday)?|fri(?:day)?)",
    re.IGNORECASE,
)

_AGE_LEAD = r"(?:ages?|aged|age group|years? of age|de)?[\s:_]*"
_AGE_UNIT = r"[\s_]*(?:years?|yrs?|y|yo|jahren?|ans|años|anos|anni|jaar|år|months?)?[\s_]*(?:old|of age)?"
_AGE = (
    (
        re.compile(
            rf"{_AGE_LEAD}(?:under|less than|below|<|unter|up to|moins de|menos de|jonger dan|meno di)[\s_]*(?P<top>\d{{1,3}}){_AGE_UNIT}",
            re.IGNORECASE,
        ),
        "under",
    ),
    (
        re.compile(
            rf"{_AGE_LEAD}(?P<top>\d{{1,3}}){_AGE_UNIT}[\s_]*(?:and|or|&)[\s_]*(?:under|younger|less|below)",
            re.IGNORECASE,
        ),
        "upto",
    ),
    (
        re.compile(
            rf"{_AGE_LEAD}(?P<low>\d{{1,3}})(?:{_AGE_UNIT})[\s_]*(?:-|–|—|to|_|bis|a|à|tot|t/m|til)[\s_]*(?P<top>\d{{1,3}}){_AGE_UNIT}",
            re.IGNORECASE,
        ),
        "range",
    ),
    (
        re.compile(
            rf"{_AGE_LEAD}(?P<low>\d{{1,3}}){_AGE_UNIT}[\s_]*(?:\+|(?:and|or|&)[\s_]*(?:over|older|above|more)|plus|et plus|y más|ou mais|e più|und (?:mehr|älter)|of ouder|en ouder|og over)",
            re.IGNORECASE,
        ),
        "open",
    ),
    (re.compile(rf"{_AGE_LEAD}(?:over)[\s_]*(?P<low>\d{{1,3}}){_AGE_UNIT}", re.IGNORECASE), "over"),
    (re.compile(rf"{_AGE_LEAD}(?P<low>\d{{1,3}}){_AGE_UNIT}", re.IGNORECASE), "single"),
)
#: The end of an age band that has none.
OPEN = 1000


@cache
def age_band(label: str, /) -> tuple[int, int] | None:
    """The first and the last year of an age band; the last is `OPEN` where it has no end. None if it is no age.

    Examples
    --------
    >>> age_band("0–4 Years"), age_band("Aged under 1 year"), age_band("85 years and over"), age_band("Aged 7 years")
    ((0, 4), (0, 0), (85, 1000), (7, 7))
    """
    text = without_notes(label).strip()
    for pattern, kind in _AGE:
        match = pattern.fullmatch(text)
        if not match:
            continue
        low, top = (int(match[name]) if name in pattern.groupindex else -1 for name in ("low", "top"))
        band = {
            "under": (0, top - 1),
            "upto": (0, top),
            "range": (low, top),
            "open": (low, OPEN),
            "over": (low + 1, OPEN),
            "single": (low, low),
        }[kind]
        return band if 0 <= band[0] <= band[1] and (band[1] <= 130 or band[1] == OPEN) else None
    return None


def _says_age(label: str) -> bool:
    """Whether a label is an age beyond doubt: bare numbers are not."""
    return age_band(label) is not None and not re.fullmatch(r"\d+", label.strip())


def kind_of_labels(labels: Sequence[str], /, *, about: str = "") -> str:
    """What labels are, as the name of a dimension: sex, year, age, month and the like; empty if that is not clear.

    Totals among them do not count. `about` is what the labels stand under, which lets bare numbers be ages or hours.

    Examples
    --------
    >>> kind_of_labels(["Female", "Male", "Total"]), kind_of_labels(["2018", "2019"]), kind_of_labels(["apples", "pears"])
    ('sex', 'year', '')
    """
    judged = [without_notes(label) for label in labels if not is_total(label)]
    if not judged:
        return ""
    words = [folded(label) for label in judged]
    if all(one in _SEX for one in words) and (
        any(one in _SURE_SEX for one in words) or {"m", "f"} <= set(words)
    ):
        return "sex"
    tests = {
        "year": _YEAR,
        "quarter": _QUARTER,
        "month": _MONTH,
        "date": _DAY,
        "time": _CLOCK,
        "week": _WEEK,
        "weekday": _WEEKDAY,
        "hour": _HOUR,
    }
    for name, pattern in tests.items():
        if all(pattern.fullmatch(one) for one in judged):
            return name
    if _are_hours(judged, about):
        return "hour"
    if all(age_band(one) is not None for one in judged) and (
        any(map(_says_age, judged)) or "age" in folded(about)
    ):
        return "age"
    return ""


#: So many numbers in equal steps are codes or ages, and no counts.
_STEPS = 8


def in_equal_steps(labels: Sequence[str], /) -> bool:
    """Whether labels are bare numbers that go up in equal steps, and so many that it is no chance.

    Examples
    --------
    >>> in_equal_steps([str(code) for code in range(1001, 1012)]), in_equal_steps(["1", "2"])
    (True, False)
    """
    if len(labels) < _STEPS or not all(label.isdecimal() and len(label) < 16 for label in labels):
        return False
    steps = {int(after) - int(before) for before, after in itertools.pairwise(labels)}
    return len(steps) == 1 and min(steps) > 0


def _are_hours(labels: Sequence[str], about: str, /) -> bool:
    """Whether labels are hours of the day: 00-01, 01-02 and so on, or bare numbers under something called an hour."""
    pairs = [match for label in labels if (match := _HOURS.fullmatch(label))]
    if len(pairs) == len(labels) > 1:
        return all((int(one[2]) - int(one[1])) % 24 == 1 and int(one[2]) <= 24 for one in pairs)
    return "hour" in folded(about) and all(re.fullmatch(r"\d{1,2}", one) and int(one) <= 24 for one in labels)


#: Nouns that say what is counted.
_COUNTED = words_of(
    "count, counts, number, numbers, deaths, death, cases, births, persons, people, population, pop, households, "
    "dwellings, families, admissions, discharges, beds, visits, attendances, appointments, trips, boardings, "
    "alightings, journeys, passengers, taps, riders, entries, exits, ons, offs, referrals, patients, students, "
    "pupils, teachers, schools, employees, jobs, workers, vacancies, marriages, divorces, crimes, offences, "
    "arrests, accidents, injuries, casualties, fatalities, killed, vehicles, cars, claims, claimants, recipients, "
    "tests, doses, vaccinations, hospitalisations, hospitalizations, recovered, enterprises, establishments, "
    "businesses, farms, voters, votes, ballots, immigrants, emigrants, arrivals, departures, sales, permits, "
    "houses, units, events, records, observations, residents, men, women, children, frequency, freq, total, n, "
    "obs, value, values, calls, incidents, complaints, procedures, operations, enrolments, enrollments, "
    "graduates, learners, anzahl, personen, bevölkerung, einwohner, fälle, gestorbene, geborene, lebendgeborene, "
    "sterbefälle, effectif, effectifs, nombre, décès, naissances, personnes, número, numero, personas, población, "
    "defunciones, nacimientos, pessoas, população, óbitos, nascimentos, aantal, bevolking, sterfte, geboorten, inwoners, "
    "antal, personer, befolkning, døde, födda, popolazione, persone, morti, nati"
)
_NO_COUNT = re.compile(
    r"%|‰|\bper ?cent(?:age)?s?\b|\bpct\b|\bprop(?:ortion)?s?\b|\brates?\b|\bratios?\b|\bshares?\b|\bper (?:\d|capita|person|household|1)"
    r"|\bmeans?\b|\baverages?\b|\bavg\b|\bmedians?\b|\bindex\b|\bstd\b|\bstandard (?:error|deviation)\b|\bmoe\b|\bmargin of error\b"
    r"|\bconfidence\b|\b(?:lower|upper) (?:ci|limit|bound|confidence)\b|\bl?uci\b|\blci\b|\bci (?:lower|upper)\b|\bdensity\b|\brank(?:ing)?\b"
    r"|\bquartile\b|\bpercentile\b|\bchange\b|\bper (?:hundred|thousand|million)\b"
    r"|\bprozent\b|\banteile?\b|\bquote\b|\btaux\b|\bpourcentages?\b|\bporcentajes?\b|\btasas?\b|\bpercentual\b|\bmoyennes?\b",
    re.IGNORECASE,
)
_WITH_SHARE = re.compile(
    r"\b(?:n|no\.?|numbers?|counts?)\s*[,(\[/]\s*(?:%|per ?cent)\s*[)\]]?", re.IGNORECASE
)
#: Names of columns that choose between measures.
_SELECTORS = re.compile(
    r"(?:measures?|indicators?|variables?|statistics?|metrics?|series|data ?items?|estimate types?|units?|value types?|unit of measure|count types?)"
    r"(?:[ _]?(?:id|name|code|description|desc|label|type))?",
    re.IGNORECASE,
)
_REMARKS = re.compile(
    r".*\b(?:foot)?notes?\b.*|.*\bcomments?\b.*|.*\bremarks?\b.*|.*\bflags?(?: codes?)?\b.*|(?:obs|conf(?:identiality)?) ?status|status"
    r"|.*\bsymbols?\b.*|annotations?|terminated|dataflow|structure(?: id| name)?|last ?updated?",
    re.IGNORECASE,
)
#: Names of columns that are dimensions even when they hold bare numbers.
_KEYS = re.compile(
    r"(?:year|yr|month|week|day|date|quarter|hour|hours|hr|time|age|ages|age ?group|period|postcode|postal ?code|zip|zip ?code|zone|zones"
    r"|ward|district|region|area|county|state|province|municipality|lga|sa[1-4]|msoa|lsoa|oa|tract|block|route|line|stop|stop ?id|station|grade|sector"
    r"|class|category|group|level|sex|gender|origin|destination|from|to|tz|cell|jahr|ort|plz|anno|ano|année)",
    re.IGNORECASE,
)


def spaced(name: str, /) -> str:
    """The name of a column in plain words: underscores and capitals inside words become blanks."""
    return " ".join(re.sub(r"([a-z])([A-Z])", r"\1 \2", name.replace("_", " ")).split())


def is_no_count(name: str, /) -> bool:
    """Whether a name says that its numbers are proportions, rates, means or the like; "n (%)" are counts with their shares."""
    return bool(_NO_COUNT.search(_WITH_SHARE.sub("n", spaced(name))))


def is_counted(name: str, /) -> bool:
    """Whether a name says what is counted."""
    return not _COUNTED.isdisjoint(re.split(r"[\W\d_]+", folded(spaced(name))))


def chooses_measure(name: str, /) -> bool:
    """Whether a column of this name says what each row measures."""
    return bool(_SELECTORS.fullmatch(spaced(name)))


def is_remarks(name: str, /) -> bool:
    """Whether a column of this name holds remarks."""
    return bool(_REMARKS.fullmatch(spaced(name)))


def is_key(name: str, /) -> bool:
    """Whether a column of this name is a dimension even when it holds bare numbers."""
    words = spaced(name)
    return bool(_KEYS.fullmatch(words)) or bool(
        re.search(
            r"(?:^|[\W_])(?:code|id|cd|nr|no|key|fips|geoid|lat|lon|latitude|longitude|year|month|hour|week|date)$|^(?:id|code|year|month|hour)\b|code$|_?cd\d*$",
            words,
            re.IGNORECASE,
        )
    )


def is_code(name: str, /) -> bool:
    """Whether a column of this name holds codes of what another column names."""
    return bool(
        re.search(
            r"(?:^|[\W_])(?:code|codes|id|cd|nr|key|fips|geoid)\d*$|code$|\d{2}cd$|\w{2,}cd\d*$",
            spaced(name),
            re.IGNORECASE,
        )
    )
