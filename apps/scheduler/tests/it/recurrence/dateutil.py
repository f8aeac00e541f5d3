"""Writes dateutil.json next to this file: the starts that python-dateutil computes for recurrence rules.

Run with `python -P` (this file has the name of the library) and python-dateutil installed. If dateutil returns a local
time that a clock change skips, the expected start is that time moved forward by the gap, and `skipped_by_clocks` lists
it. The rules at the end are generated from a fixed seed, without rules for which dateutil deviates from RFC 5545 (see
`drawn`).
"""

import json
import pathlib
import random
from datetime import datetime, timedelta

import dateutil
from dateutil import rrule, tz

NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"
RFC = "19970902T090000"
WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def case(name, rule, first=RFC, zone=NEW_YORK, most=24, left_out=(), added=(), same_as=None):
    """Returns a test case. `same_as` is the same rule in the form that dateutil accepts, with UNTIL in UTC."""
    place = tz.gettz(zone)
    at = lambda text: datetime.strptime(text, "%Y%m%dT%H%M%S").replace(tzinfo=place)
    found = rrule.rruleset()
    found.rrule(rrule.rrulestr(same_as or rule, dtstart=at(first)))
    for text in left_out:
        found.exdate(at(text))
    for text in added:
        found.rdate(at(text))
    starts, skipped, is_whole = [], [], True
    for start in found:
        if len(starts) == most:
            is_whole = False
            break
        expected = start if tz.datetime_exists(start) else tz.resolve_imaginary(start)
        if expected != start:
            skipped.append({"dateutil": start.strftime("%Y-%m-%dT%H:%M:%S"), "expected": expected.isoformat()})
        starts.append(expected.isoformat())
    assert starts, name
    return {
        "name": name,
        "zone": zone,
        "first": first,
        "rule": rule,
        "left_out": list(left_out),
        "added": list(added),
        "starts": starts,
        "is_whole": is_whole,
        "skipped_by_clocks": skipped,
    }


def of_the_rfc():
    """Yields the examples of RFC 5545, 3.8.5.3, in their order."""
    yield case("daily for 10", "FREQ=DAILY;COUNT=10")
    yield case("daily until December 24", "FREQ=DAILY;UNTIL=19971224T000000Z", most=200)
    yield case("every other day", "FREQ=DAILY;INTERVAL=2")
    yield case("every 10 days, 5 times", "FREQ=DAILY;INTERVAL=10;COUNT=5")
    all_days = "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA"
    yield case("every day in January by year", all_days, "19980101T090000", most=100)
    daily = "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1"
    yield case("every day in January by day", daily, "19980101T090000", most=100)
    yield case("weekly for 10", "FREQ=WEEKLY;COUNT=10")
    yield case("weekly until December 24", "FREQ=WEEKLY;UNTIL=19971224T000000Z")
    yield case("every other week", "FREQ=WEEKLY;INTERVAL=2;WKST=SU")
    yield case("Tuesday and Thursday for 5 weeks", "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH")
    yield case("the same by count", "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH")
    until = "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR"
    yield case("every other week on three days", until, "19970901T090000", most=40)
    yield case("every other week on two days, 8 times", "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH")
    yield case("first Friday, 10 times", "FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "19970905T090000")
    yield case("first Friday until December 24", "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "19970905T090000")
    every_other = "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU"
    yield case("first and last Sunday of every other month", every_other, "19970907T090000")
    yield case("second-to-last Monday", "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "19970922T090000")
    yield case("third-to-last day", "FREQ=MONTHLY;BYMONTHDAY=-3", "19970928T090000")
    yield case("2nd and 15th", "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15")
    yield case("first and last day", "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "19970930T090000")
    days = "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15"
    yield case("10th to 15th every 18 months", days, "19970910T090000")
    yield case("every Tuesday of every other month", "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU")
    yield case("yearly in June and July", "FREQ=YEARLY;COUNT=10;BYMONTH=6,7", "19970610T090000")
    yield case("every other year, January to March", "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3", "19970310T090000")
    third = "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200"
    yield case("every third year on days of the year", third, "19970101T090000")
    yield case("20th Monday of the year", "FREQ=YEARLY;BYDAY=20MO", "19970519T090000")
    yield case("Monday of week 20", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "19970512T090000")
    yield case("every Thursday in March", "FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "19970313T090000")
    yield case("every Thursday of summer", "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8", "19970605T090000")
    yield case("every Friday the 13th", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", left_out=[RFC], most=6)
    saturday = "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13"
    yield case("Saturday after the first Sunday", saturday, "19970913T090000")
    election = "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8"
    yield case("election day", election, "19961105T090000", most=9)
    yield case("third of three days", "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "19970904T090000")
    yield case("second-to-last weekday", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "19970929T090000")
    yield case("every 3 hours on one day", "FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z")
    yield case("every 15 minutes, 6 times", "FREQ=MINUTELY;INTERVAL=15;COUNT=6")
    yield case("every hour and a half, 4 times", "FREQ=MINUTELY;INTERVAL=90;COUNT=4")
    hours = "BYHOUR=9,10,11,12,13,14,15,16"
    yield case("every 20 minutes of the day", f"FREQ=DAILY;{hours};BYMINUTE=0,20,40", most=60)
    yield case("the same by minutes, with an end", f"FREQ=MINUTELY;INTERVAL=20;{hours};COUNT=60", most=60)
    yield case("week starts on Monday", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "19970805T090000")
    yield case("week starts on Sunday", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "19970805T090000")
    yield case("a date that is not is left out", "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "20070115T090000")


def of_calendars():
    """Yields rules about leap years, ends of months, positions and starts of weeks."""
    yield case("February 29", "FREQ=YEARLY", "20240229T080000", most=4)
    yield case("February 29 across 2100", "FREQ=YEARLY;COUNT=4", "20880229T080000", "UTC")
    yield case("a day of 366", "FREQ=YEARLY;BYYEARDAY=366;COUNT=3", "20240101T080000")
    yield case("the last day of the year", "FREQ=YEARLY;BYYEARDAY=-1;COUNT=5", "20260101T080000")
    yield case("the 31st", "FREQ=MONTHLY;COUNT=8", "20260131T180000", BERLIN)
    yield case("the last day", "FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=14", "20260131T180000", BERLIN)
    yield case("the 29th of February only", "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=29;COUNT=3", "20260101T080000")
    yield case("fifth Monday", "FREQ=MONTHLY;BYDAY=5MO;COUNT=6", "20260101T080000")
    yield case("fifth-to-last Monday", "FREQ=MONTHLY;BYDAY=-5MO;COUNT=6", "20260101T080000")
    yield case("last Friday", "FREQ=MONTHLY;BYDAY=-1FR;COUNT=12", "20260130T160000")
    yield case("first workday", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1;COUNT=12", "20260101T080000")
    both = "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1;COUNT=12"
    yield case("first and last workday", both, "20260101T080000")
    yield case("second hour of the last day", "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=8,12,16;BYSETPOS=2;COUNT=4", "20260101T080000")
    yield case("Thanksgiving", "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;COUNT=5", "20261126T150000")
    yield case("last Monday of May", "FREQ=YEARLY;BYMONTH=5;BYDAY=-1MO;COUNT=5", "20260525T100000")
    yield case("last Sunday of the year", "FREQ=YEARLY;BYDAY=-1SU;COUNT=5", "20261227T100000", BERLIN)
    yield case("week 53", "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;COUNT=3", "20260101T080000")
    yield case("week 1, where it starts in December", "FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO,SU;COUNT=6", "20260101T080000")
    yield case("last week, from Sunday", "FREQ=YEARLY;BYWEEKNO=-1;BYDAY=SA;WKST=SU;COUNT=4", "20260101T080000")
    yield case("every other week, from Sunday, starting on Sunday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU;COUNT=8", "20260104T100000")
    yield case("every other week, from Monday, starting on Sunday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=MO;COUNT=8", "20260104T100000")
    yield case("weekdays", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=15", "20260108T073000")
    yield case("every hundredth day", "FREQ=DAILY;INTERVAL=100;COUNT=12", "20260101T080000", "UTC")
    yield case("a start on which the rule does not fall", "FREQ=WEEKLY;BYDAY=TU;COUNT=3", "20260108T170000")
    yield case("left out and added", "FREQ=WEEKLY;BYDAY=TU;COUNT=6", "20260303T170000", left_out=["20260317T170000"], added=["20260319T170000", "20260324T170000"])
    yield case("until a day", "FREQ=DAILY;UNTIL=20260312", "20260306T170000", same_as="FREQ=DAILY;UNTIL=20260313T035959Z")
    yield case("until a time on the wall", "FREQ=DAILY;UNTIL=20260312T170000", "20260306T170000", same_as="FREQ=DAILY;UNTIL=20260312T210000Z")
    yield case("until just before", "FREQ=DAILY;UNTIL=20260312T205959Z", "20260306T170000")


def of_clocks():
    """Yields series across clock changes, with skipped and repeated local times."""
    yield case("Tuesday at five", "FREQ=WEEKLY;BYDAY=TU", "20260303T170000", most=40)
    yield case("skipped in New York", "FREQ=DAILY;COUNT=5", "20260306T023000")
    yield case("repeated in New York", "FREQ=DAILY;COUNT=5", "20261030T013000")
    yield case("skipped in Berlin", "FREQ=DAILY;COUNT=5", "20260327T023000", BERLIN)
    yield case("repeated in Berlin", "FREQ=DAILY;COUNT=5", "20261023T023000", BERLIN)
    yield case("Berlin through a year", "FREQ=MONTHLY;COUNT=13", "20260115T090000", BERLIN)
    yield case("half an hour skipped on Lord Howe", "FREQ=DAILY;COUNT=5", "20261002T021500", LORD_HOWE)
    yield case("half an hour repeated on Lord Howe", "FREQ=DAILY;COUNT=5", "20260403T014500", LORD_HOWE)
    yield case("Lord Howe by week", "FREQ=WEEKLY;BYDAY=SU;COUNT=20", "20260816T021500", LORD_HOWE)
    yield case("yearly where clocks skip it once", "FREQ=YEARLY;COUNT=8", "20210308T023000")
    yield case("two a day where clocks skip one", "FREQ=DAILY;BYHOUR=2,14;COUNT=8", "20260306T023000")


def drawn(number, draw):
    """Returns a generated case, without rules for which dateutil deviates from RFC 5545: ordinals next to plain days,
    `BYWEEKNO` without days, and `BYSETPOS` in a week in which the start is not the first day."""
    frequency = draw.choice(["YEARLY", "MONTHLY", "WEEKLY", "DAILY"])
    some = lambda numbers, most: ",".join(map(str, sorted(draw.sample(numbers, draw.randint(1, most)))))
    parts = [f"FREQ={frequency}"]
    if draw.random() < 0.5:
        parts.append(f"INTERVAL={draw.randint(2, 5)}")
    if draw.random() < 0.3:
        parts.append("WKST=" + draw.choice(WEEKDAYS))
    if draw.random() < 0.3:
        parts.append("BYMONTH=" + some(range(1, 13), 4))
    if frequency != "WEEKLY" and draw.random() < 0.3:
        parts.append("BYMONTHDAY=" + some([*range(1, 29), -1, -2, -5], 4))
    if draw.random() < 0.5:
        ordinal = frequency in ("YEARLY", "MONTHLY") and draw.random() < 0.6
        days = draw.sample(WEEKDAYS, draw.randint(1, 4))
        parts.append("BYDAY=" + ",".join((str(draw.choice([1, 2, 3, -1, -2])) if ordinal else "") + day for day in days))
    if draw.random() < 0.2:
        parts.append("BYHOUR=" + some(range(24), 2))
    if frequency in ("YEARLY", "MONTHLY") and len(parts) > 2 and any(part.startswith("BY") for part in parts) and draw.random() < 0.4:
        parts.append("BYSETPOS=" + some([1, 2, -1, -2], 2))
    parts.append(f"COUNT={draw.randint(3, 12)}")
    first = datetime(2024, 1, 1) + timedelta(minutes=15 * draw.randint(0, 2 * 365 * 96))
    zone = draw.choice([NEW_YORK, BERLIN, LORD_HOWE, "UTC"])
    return case(f"drawn {number}", ";".join(parts), first.strftime("%Y%m%dT%H%M%S"), zone)


def all_drawn(wanted):
    draw, made = random.Random(5545), 0
    while made < wanted:
        try:
            found = drawn(made + 1, draw)
        except AssertionError:
            continue  # A rule without starts is invalid, which another test covers.
        # dateutil knows the clock changes of each time zone up to 2037 only.
        if found["starts"][-1] < "2037":
            made += 1
            yield found


cases = [*of_the_rfc(), *of_calendars(), *of_clocks(), *all_drawn(120)]
lines = ",\n".join(json.dumps(one) for one in cases)
text = f'{{"made_by": "python-dateutil {dateutil.__version__}", "cases": [\n{lines}\n]}}\n'
pathlib.Path(__file__).with_suffix(".json").write_text(text)
print(len(cases), "cases")
