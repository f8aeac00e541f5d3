#!/usr/bin/env python3
"""Writes the CSV files of the sample shop next to this script.

    python3 make.py            write the files
    python3 make.py --check    write nothing, say whether the files are what this script makes

Same output on every run: all chance comes from random() of seeded generators,
one per table, and money is counted in whole cents.
"""
import csv
import io
import random
import sys
import unicodedata
from datetime import date, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
SNAPSHOT = datetime(2026, 10, 31, 22, 0)  # nothing in the data is later


class Dice:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def chance(self, p):
        return self.r.random() < p

    def between(self, low, high):
        return low + int(self.r.random() * (high - low + 1))

    def one(self, items):
        return items[int(self.r.random() * len(items))]

    def weighted(self, items, weights):
        x = self.r.random() * sum(weights)
        for item, weight in zip(items, weights):
            x -= weight
            if x < 0:
                return item
        return items[-1]

    def shuffled(self, items):
        keyed = [(self.r.random(), i) for i in range(len(items))]
        return [items[i] for _, i in sorted(keyed)]


def money(cents):
    return f"{cents // 100}.{cents % 100:02d}"


def percent(cents, p):
    """p percent of cents, half a cent goes up."""
    return (cents * p + 50) // 100


def stamp(t):
    return t.strftime("%Y-%m-%dT%H:%M:%SZ") if t else ""


def workdays_after(day, n):
    while n > 0:
        day += timedelta(days=1)
        if day.weekday() < 5:
            n -= 1
    return day


# ---------------------------------------------------------------- fixed lists

CATEGORIES = [
    (1, "Tents", "Outdoor"), (2, "Sleeping Bags", "Outdoor"), (3, "Backpacks", "Outdoor"),
    (4, "Camp Stoves", "Outdoor"), (5, "Lighting", "Outdoor"), (6, "Bottles", "Outdoor"),
    (7, "Cookware", "Kitchen"), (8, "Knives", "Kitchen"), (9, "Coffee", "Kitchen"),
    (10, "Storage", "Kitchen"),
]

SUPPLIERS = [
    (1, "Nordhang Zeltbau", "Kempten", "Germany", 21, "2016-02-01"),
    (2, "Fjellvind Textil", "Aarhus", "Denmark", 28, "2017-09-15"),
    (3, "Tramontana Equip", "Girona", "Spain", 24, "2018-04-01"),
    (4, "Brandstatt Metall", "Graz", "Austria", 14, "2016-02-01"),
    (5, "Lumenta", "Eindhoven", "Netherlands", 18, "2019-01-10"),
    (6, "Aquaforma", "Bergamo", "Italy", 16, "2018-11-05"),
    (7, "Fonderie Valmont", "Annecy", "France", 30, "2017-03-20"),
    (8, "Klingenhof Solingen", "Solingen", "Germany", 12, "2016-06-01"),
    (9, "Torrefina", "Trieste", "Italy", 10, "2020-05-18"),
    (10, "Huta Szklana Bystra", "Krosno", "Poland", 20, "2021-08-01"),
    (11, "Sakerhet Outdoor", "Uppsala", "Sweden", 35, "2022-02-14"),
    (12, "Houtwerk Drenthe", "Assen", "Netherlands", 15, "2023-07-03"),
]

# name, category, supplier, price in cents, grams, popularity
PRODUCTS = [
    ("Ridge Tent 2", 1, 1, 24900, 2450, 6), ("Ridge Tent 3", 1, 1, 31900, 3120, 4),
    ("Meadow Family Tent", 1, 1, 54900, 9800, 2), ("Solo Bivvy", 1, 2, 15950, 890, 4),
    ("Tarp 3x3", 1, 2, 8990, 780, 7), ("Tent Peg Set", 1, 1, 1490, 310, 10),
    ("Groundsheet XL", 1, 2, 3990, 640, 6),
    ("Fjord Down Bag", 2, 2, 28900, 980, 4), ("Fjord Down Bag Long", 2, 2, 30900, 1080, 2),
    ("Summer Quilt", 2, 2, 11900, 620, 5), ("Kids Dream Bag", 2, 3, 6990, 870, 4),
    ("Silk Liner", 2, 3, 4990, 140, 6), ("Air Mat Light", 2, 11, 9990, 480, 7),
    ("Foam Mat Basic", 2, 11, 2490, 410, 8),
    ("Summit Pack 45", 3, 3, 17900, 1650, 5), ("Summit Pack 65", 3, 3, 21900, 2050, 4),
    ("City Roll 20", 3, 3, 8900, 720, 6), ("Trail Runner Vest", 3, 11, 7900, 260, 5),
    ("Rain Cover M", 3, 3, 1990, 110, 9), ("Dry Sack Trio", 3, 11, 2990, 180, 9),
    ("Hip Pouch", 3, 3, 2450, 150, 6),
    ("Trail Stove", 4, 4, 6990, 390, 11), ("Trail Stove Mini", 4, 4, 4490, 85, 13),
    ("Base Camp Burner", 4, 4, 12900, 2100, 4), ("Wood Gas Stove", 4, 4, 8450, 720, 5),
    ("Gas Cartridge 230", 4, 4, 690, 380, 18), ("Windscreen Fold", 4, 4, 1790, 230, 8),
    ("Spark Lighter", 4, 4, 990, 45, 10),
    ("Beacon Headlamp", 5, 5, 4990, 95, 10), ("Beacon Headlamp Pro", 5, 5, 8990, 130, 6),
    ("Camp Lantern", 5, 5, 3990, 420, 8), ("String Lights 5m", 5, 5, 2490, 240, 7),
    ("Pocket Torch", 5, 5, 1990, 80, 9), ("Solar Panel 14W", 5, 5, 7490, 560, 4),
    ("Power Bank 10k", 5, 5, 3490, 230, 7),
    ("Steel Bottle 0.7", 6, 6, 2790, 310, 12), ("Steel Bottle 1.0", 6, 6, 3190, 370, 9),
    ("Thermo Flask 0.5", 6, 6, 3390, 340, 11), ("Kids Bottle Fox", 6, 6, 1890, 190, 7),
    ("Water Filter Straw", 6, 11, 3690, 75, 6), ("Folding Canister 10", 6, 6, 1590, 260, 5),
    ("Cleaning Brush Set", 6, 6, 890, 70, 8),
    ("Cast Iron Pan 26", 7, 7, 5990, 2600, 9), ("Cast Iron Pot 4L", 7, 7, 11900, 5400, 5),
    ("Copper Saucepan", 7, 7, 13900, 1450, 3), ("Steel Pan 28", 7, 4, 4990, 1750, 8),
    ("Camp Pot Set", 7, 4, 5490, 820, 8), ("Oak Spoon Set", 7, 12, 1690, 160, 9),
    ("Pan Scraper", 7, 12, 590, 40, 9),
    ("Chef Knife 20", 8, 8, 9900, 240, 8), ("Paring Knife 9", 8, 8, 3490, 70, 9),
    ("Bread Knife 22", 8, 8, 6490, 210, 5), ("Folding Knife Larch", 8, 8, 4990, 110, 8),
    ("Whetstone 1000/3000", 8, 8, 3990, 780, 6), ("Magnetic Rack", 8, 12, 4490, 690, 4),
    ("Cutting Board Ash", 8, 12, 3990, 1900, 7),
    ("Moka Pot 6", 9, 9, 3490, 640, 9), ("Pour Over Set", 9, 9, 4290, 710, 6),
    ("Hand Grinder", 9, 9, 7990, 520, 7), ("House Espresso 1kg", 9, 9, 2290, 1020, 16),
    ("Trail Filter Coffee 500g", 9, 9, 1390, 520, 14), ("Enamel Mug", 9, 6, 1290, 170, 14),
    ("Milk Pitcher", 9, 9, 1990, 230, 5),
    ("Preserving Jar Set 6", 10, 10, 2690, 2900, 8), ("Glass Box Trio", 10, 10, 3290, 1850, 7),
    ("Bread Box Beech", 10, 12, 5990, 2300, 4), ("Spice Tins 12", 10, 10, 2990, 940, 6),
    ("Lunch Tin", 10, 6, 2190, 330, 9), ("Oil Cruet", 10, 10, 1850, 420, 5),
    ("Beeswax Wraps", 10, 12, 1690, 60, 8),
]
INACTIVE = {"Solo Bivvy", "Kids Dream Bag", "Wood Gas Stove", "Copper Saucepan", "Oil Cruet"}
LAST_SALE_OF_INACTIVE = date(2026, 3, 31)
RAISED = date(2026, 2, 1)  # until then the products of these suppliers cost less
RAISED_SUPPLIERS = {2, 7, 9}

# country: number of customers, cities, first names, last names
PEOPLE = {
    "Germany": (47, ["Berlin", "Hamburg", "Munich", "Cologne", "Leipzig", "Freiburg", "Bremen", "Dresden"],
        "Lena Jonas Mareike Tobias Katrin Florian Svenja Matthias Ute Henning Birgit Lukas Franziska Ole Jana Carsten "
        "Greta Malte Silke Rainer".split(),
        "Ackermann Brandt Clausen Dörfler Eberhardt Fassbender Gerlach Hartwig Immel Jansen Kessler Lindner Maurer "
        "Neuhaus Oberländer Petersen Quandt Reinhold Schröder Thiele Uhlig Vollmer Wegener Zander Bäcker Conradi "
        "Dietz Engelke Freitag Grothe Hollmann Jessen Krüger Lorenz Meinhardt Nolte Osterkamp Pohlmann Rademacher "
        "Seidel Tiedemann Ullmann Vogt Wiegand Zeller Böhme Harms".split()),
    "France": (22, ["Paris", "Lyon", "Nantes", "Strasbourg", "Toulouse"],
        "Camille Hugo Élodie Mathis Chloé Antoine Manon Julien Inès Bastien".split(),
        "Aubert Bonnet Carpentier Delmas Escoffier Fabre Guérin Hamelin Joubert Lacombe Marchand Noiret Olivier "
        "Perrin Rousseau Sabatier Tessier Vasseur Blanchet Chauvin Dubreuil Faucher".split()),
    "Netherlands": (14, ["Amsterdam", "Utrecht", "Groningen", "Rotterdam"],
        "Sanne Daan Femke Bram Lotte Thijs Maaike Ruben".split(),
        "Bakker Dekker Hoekstra Kuipers Postma Smit Terpstra Verhoeven Wiersma Zijlstra Boersma Dijkstra Hendriks "
        "Mulder".split()),
    "Austria": (12, ["Vienna", "Graz", "Linz", "Innsbruck"],
        "Theresa Stefan Magdalena Georg Veronika Lorenz Johanna Paul".split(),
        "Aigner Brunner Egger Fuchsberger Gruber Hofstätter Kogler Leitner Moser Pichler Steiner Wallner".split()),
    "Italy": (12, ["Milan", "Turin", "Bologna", "Florence"],
        "Giulia Marco Chiara Davide Elisa Paolo Sara Matteo".split(),
        "Rossi Bellini Caruso Damiani Esposito Ferrara Galli Lombardi Marchetti Ricci Santoro Rossi".split()),
    "Spain": (9, ["Madrid", "Barcelona", "Valencia"],
        "Lucía Álvaro Carmen Diego Marta Sergio".split(),
        "Aguilar Benítez Castillo Domínguez Herrera Molina Núñez Ortega Vidal".split()),
    "Denmark": (7, ["Copenhagen", "Aarhus", "Odense"],
        "Freja Magnus Signe Rasmus".split(),
        "Andersen Bach Dalgaard Frederiksen Holm Kjær Søndergaard".split()),
    "Poland": (7, ["Warsaw", "Kraków", "Wrocław"],
        "Zofia Łukasz Hanna Piotr".split(),
        "Nowak Kowalczyk Lewandowska Wójcik Zieliński Mazur Nowak".split()),
    "Belgium": (5, ["Ghent", "Antwerp", "Liège"],
        "Nele Wout Amélie Jef".split(),
        "Claes Goossens Lambrecht Peeters Wauters".split()),
    "Ireland": (2, ["Dublin", "Cork"], "Aoife Conor".split(), "Byrne Gallagher".split()),
}
MILLERS = [
    ("Anna", "Miller", "Hamburg", "Germany", "private", "2024-03-12"),
    ("Jack", "Miller", "Dublin", "Ireland", "club", "2024-09-05"),
    ("Sophie", "Miller", "Vienna", "Austria", "business", "2025-02-20"),
]

EMPLOYEES = [
    ("Ana Petrova", "Finance"), ("Sam Okafor", "Customer Service"), ("Mia Lindqvist", "Management"),
    ("Kim Hartung", "Purchasing"), ("Dorothea Falk", "Management"), ("Emil Sandner", "IT"),
    ("Yara Haddad", "IT"), ("Ludger Thomsen", "IT"), ("Priya Raman", "IT"),
    ("Nils Overbeck", "Warehouse"), ("Agnieszka Duda", "Warehouse"), ("Bogdan Ilie", "Warehouse"),
    ("Carla Mendes", "Warehouse"), ("Dieter Raabe", "Warehouse"), ("Ebru Aydin", "Warehouse"),
    ("Frank Stolze", "Warehouse"), ("Gosia Pawlak", "Warehouse"), ("Hanno Brill", "Warehouse"),
    ("Ines Calvo", "Customer Service"), ("Joris Maas", "Customer Service"), ("Kaja Nyberg", "Customer Service"),
    ("Leif Arnesen", "Customer Service"), ("Miriam Stein", "Customer Service"), ("Noor de Wit", "Marketing"),
    ("Oskar Rehm", "Marketing"), ("Paula Ferro", "Marketing"), ("Roman Juhasz", "Purchasing"),
    ("Selin Kaya", "Purchasing"), ("Till Marquardt", "Finance"), ("Ulla Bergfeld", "Finance"),
]
PLACE = {"Warehouse": ["Leipzig"], "Customer Service": ["Freiburg", "Utrecht"], "IT": ["Freiburg"],
         "Finance": ["Freiburg"], "Management": ["Freiburg"], "Marketing": ["Utrecht", "Freiburg"],
         "Purchasing": ["Freiburg", "Leipzig"]}

ORDERS_PER_MONTH = [
    (2025, 11, 86), (2025, 12, 101), (2026, 1, 51), (2026, 2, 47), (2026, 3, 59), (2026, 4, 71),
    (2026, 5, 79), (2026, 6, 84), (2026, 7, 77), (2026, 8, 66), (2026, 9, 75), (2026, 10, 108),
]
# share of orders that miss the due date, by month of order; the warehouse moved halls in October 2026
LATE_SHARE = {(2025, 11): .10, (2025, 12): .17, (2026, 1): .07, (2026, 2): .04, (2026, 3): .06, (2026, 4): .07,
              (2026, 5): .08, (2026, 6): .11, (2026, 7): .10, (2026, 8): .08, (2026, 9): .13, (2026, 10): .40}
LATE_IN_OCTOBER = 37


# ---------------------------------------------------------------- the tables

def plain(word):
    word = word.replace("ø", "oe").replace("æ", "ae").replace("ł", "l").replace("Ł", "L").replace("ß", "ss")
    for umlaut, two in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
        word = word.replace(umlaut, two)
    word = unicodedata.normalize("NFD", word)
    return "".join(c for c in word if ord(c) < 128).lower()


def make_products():
    d = Dice("fieldware products")
    rows = []
    for i, (name, cat, sup, price, grams, weight) in enumerate(PRODUCTS, 1):
        active = name not in INACTIVE
        cost = percent(price, d.between(44, 66))
        stock = d.between(0, 14) if d.chance(.13) else d.between(15, 60 + 14 * weight)
        rows.append(dict(id=i, name=name, category_id=cat, supplier_id=sup, price=price, cost=cost,
                         weight_grams=grams, is_active=int(active), stock=stock if active else 0, weight=weight))
    return rows


def make_customers():
    d = Dice("fieldware customers")
    people = []
    for country, (count, cities, firsts, lasts) in PEOPLE.items():
        assert len(lasts) == count, (country, len(lasts))
        firsts = firsts * (count // len(firsts) + 1)
        for i, last in enumerate(lasts):
            city = d.weighted(cities, [1 / (k + 1.5) for k in range(len(cities))])
            segment = d.weighted(["private", "business", "club"], [62, 13, 25])
            opened = date(2023, 3, 1) + timedelta(days=int(1320 * d.r.random() ** 1.3))
            people.append((firsts[i], last, city, country, segment, opened.isoformat()))
    people += MILLERS
    people.sort(key=lambda p: (p[5], p[1], p[0]))
    rows = []
    for i, (first, last, city, country, segment, opened) in enumerate(people, 1001):
        host = d.one(["example.com", "example.org", "example.net"])
        rows.append(dict(id=i, first_name=first, last_name=last, city=city, country=country, segment=segment,
                         email=f"{plain(first)}.{plain(last)}@{host}", created_at=opened,
                         weight=(0.25 + 2 * d.r.random() ** 2) * (1.6 if segment == "club" else 1)
                         * (0.7 if last == "Miller" else 1)))
    return rows


def make_employees():
    d = Dice("fieldware employees")
    rows = []
    for i, (name, department) in enumerate(EMPLOYEES, 1):
        day = date(2016, 2, 1) + timedelta(days=d.between(0, 3800))
        day = day.replace(day=1) if d.chance(.7) else day.replace(day=15)
        rows.append(dict(id=i, name=name, department=department, hired_at=day.isoformat(),
                         city=d.one(PLACE[department])))
    return rows


def make_orders(customers, products):
    d = Dice("fieldware orders 2")
    times = []
    for year, month, count in ORDERS_PER_MONTH:
        first = date(year, month, 1)
        days = ((first + timedelta(days=32)).replace(day=1) - first).days
        for _ in range(count):
            t = datetime(year, month, d.between(1, days), d.between(5, 20), d.between(0, 59), d.between(0, 59))
            times.append(t)
    times.sort()
    orders, items = [], []
    for number, t in enumerate(times, 50001):
        known = [c for c in customers if c["created_at"] < t.date().isoformat()]
        c = d.weighted(known, [k["weight"] for k in known])
        channel = d.weighted(["web", "app", "phone", "marketplace"],
                             [20, 20, 30, 0] if c["segment"] == "business" else [52, 27, 6, 15])
        choice = [p for p in products if p["is_active"] or t.date() <= LAST_SALE_OF_INACTIVE]
        outdoor = 1.5 if 4 <= t.month <= 9 else 0.8
        weights = [p["weight"] * (outdoor if p["category_id"] <= 6 else 1) for p in choice]
        lines = d.weighted([1, 2, 3, 4, 5], [27, 30, 23, 13, 7])
        taken, total = [], 0
        while len(taken) < lines:
            p = d.weighted(choice, weights)
            if p not in taken:
                taken.append(p)
        for line, p in enumerate(taken, 1):
            if c["segment"] == "business" and p["price"] < 8000:
                quantity = d.weighted([1, 2, 3, 4, 6, 10], [28, 24, 14, 14, 14, 6])
            else:
                quantity = d.weighted([1, 2, 3, 4], [78, 15, 5, 2] if p["price"] < 8000 else [97, 3, 0, 0])
            price = p["price"]
            if t.date() < RAISED and p["supplier_id"] in RAISED_SUPPLIERS:
                price = (price * 95 // 100) // 10 * 10
            # handbook, discounts: the best single discount of a line counts
            offers = [0]
            if quantity >= 3:
                offers.append(5)
            if quantity >= 6:
                offers.append(10)
            if c["segment"] == "business":
                offers.append(8)
            if date(2025, 11, 24) <= t.date() <= date(2025, 11, 30):
                offers.append(15)
            discount = percent(quantity * price, max(offers))
            amount = quantity * price - discount
            total += amount
            items.append(dict(order_id=number, line=line, product_id=p["id"], quantity=quantity, unit_price=price,
                              discount=discount, amount=amount))
        orders.append(dict(id=number, customer_id=c["id"], status="NEW", ordered_at=t, due_at=None, shipped_at=None,
                           delivered_at=None, channel=channel, total=total, customer=c))
    return orders, items


def ship(orders):
    """Sets due dates, shipping, delivery and status."""
    d = Dice("fieldware shipping 0")
    for o in orders:
        t = o["ordered_at"]
        # handbook, orders and shipping: two working days for club members, three for all others
        days = 2 if o["customer"]["segment"] == "club" else 3
        due = workdays_after(t.date(), days)
        o["due_at"] = datetime(due.year, due.month, due.day, 17)
        late, cancelled, unpaid = d.r.random(), d.chance(.045), d.r.random()
        early, delay = d.between(1, days), d.weighted([1, 2, 3, 4, 6], [40, 27, 17, 10, 6])
        hour, minute, second = d.between(7, 15), d.between(0, 59), d.between(0, 59)
        way = d.between(1, 3) if o["customer"]["country"] == "Germany" else d.between(2, 5)
        at = (d.between(8, 16), d.between(0, 59), d.between(0, 59))
        o["late"] = late
        o["plan"] = (early, delay, (hour, minute, second), way, at)
        o["fate"] = "cancelled" if cancelled else "unpaid" if unpaid < .25 and t >= datetime(2026, 10, 26) else "go"

    def dispatch(o, late):
        early, delay, clock, way, at = o["plan"]
        day = workdays_after(o["due_at"].date(), delay) if late else workdays_after(o["ordered_at"].date(), early)
        o["shipped_at"] = datetime(day.year, day.month, day.day, *clock)
        day += timedelta(days=way)
        if day.weekday() == 6:
            day += timedelta(days=1)
        o["delivered_at"] = datetime(day.year, day.month, day.day, *at)

    def late_in_october(share):
        n = 0
        for o in orders:
            if o["fate"] == "go":
                month = (o["ordered_at"].year, o["ordered_at"].month)
                limit = share if month == (2026, 10) else LATE_SHARE[month]
                dispatch(o, o["late"] < limit)
                n += (datetime(2026, 10, 1) <= o["shipped_at"] <= SNAPSHOT) and o["shipped_at"] > o["due_at"]
        return n

    # the October share is fitted so that exactly LATE_IN_OCTOBER orders shipped late that month
    step = 0
    while late_in_october(step / 1000) != LATE_IN_OCTOBER:
        step += 1
        assert step < 1000, "no share fits"
    for o in orders:
        if o["fate"] == "cancelled":
            o["status"] = "CANCELLED"
        elif o["fate"] == "unpaid":
            o["status"] = "NEW"
        elif o["shipped_at"] > SNAPSHOT:
            o["status"], o["shipped_at"], o["delivered_at"] = "PAID", None, None
        elif o["delivered_at"] > SNAPSHOT:
            o["status"], o["delivered_at"] = "SHIPPED", None
        else:
            o["status"] = "DELIVERED"


def make_returns(orders, items):
    d = Dice("fieldware returns")
    lines = {}
    for it in items:
        lines.setdefault(it["order_id"], []).append(it)
    found = []
    for o in orders:
        if o["status"] != "DELIVERED" or not d.chance(.063):
            continue
        mine = lines[o["id"]]
        back = mine if d.chance(.38) else [d.one(mine)]
        asked = o["delivered_at"] + timedelta(days=d.between(1, 27), minutes=d.between(0, 200))
        if asked > SNAPSHOT:
            continue
        if len(back) == len(mine):
            o["status"] = "RETURNED"
        for it in back:
            reason = d.weighted(["CHANGED_MIND", "DAMAGED", "NOT_AS_DESCRIBED", "DEFECTIVE", "WRONG_ITEM"],
                                [34, 24, 17, 15, 10])
            paid = asked + timedelta(days=d.between(4, 13), minutes=d.between(0, 90))
            found.append(dict(order_id=o["id"], product_id=it["product_id"], reason=reason, requested_at=asked,
                              refunded_at=paid if paid <= SNAPSHOT else None, amount=it["amount"]))
    found.sort(key=lambda r: (r["requested_at"], r["order_id"], r["product_id"]))
    return [dict(id=i, **r) for i, r in enumerate(found, 7001)]


# ---------------------------------------------------------------- writing

def table(columns, rows):
    out = io.StringIO()
    w = csv.writer(out, lineterminator="\n")
    w.writerow(columns)
    for r in rows:
        w.writerow([r[c] if r[c] is not None else "" for c in columns])
    return out.getvalue()


def build():
    products, customers, employees = make_products(), make_customers(), make_employees()
    orders, items = make_orders(customers, products)
    ship(orders)
    returns = make_returns(orders, items)
    for rows, cents in ((products, ("price", "cost")), (orders, ("total",)),
                        (items, ("unit_price", "discount", "amount")), (returns, ("amount",))):
        for r in rows:
            for c in cents:
                r[c] = money(r[c])
            for c in ("ordered_at", "due_at", "shipped_at", "delivered_at", "requested_at", "refunded_at"):
                if c in r:
                    r[c] = stamp(r[c])
    suppliers = [dict(id=i, name=n, city=c, country=k, lead_time_days=l, since=s,
                      email=f"orders@{plain(n).replace(' ', '-')}.example") for i, n, c, k, l, s in SUPPLIERS]
    categories = [dict(zip(("id", "name", "area"), c)) for c in CATEGORIES]
    return {
        "categories.csv": table(["id", "name", "area"], categories),
        "suppliers.csv": table(["id", "name", "city", "country", "lead_time_days", "email", "since"], suppliers),
        "products.csv": table(["id", "name", "category_id", "supplier_id", "price", "cost", "weight_grams",
                               "is_active", "stock"], products),
        "customers.csv": table(["id", "first_name", "last_name", "city", "country", "segment", "email",
                                "created_at"], customers),
        "employees.csv": table(["id", "name", "department", "hired_at", "city"], employees),
        "orders.csv": table(["id", "customer_id", "status", "ordered_at", "due_at", "shipped_at", "delivered_at",
                             "channel", "total"], orders),
        "order_items.csv": table(["order_id", "line", "product_id", "quantity", "unit_price", "discount",
                                  "amount"], items),
        "returns.csv": table(["id", "order_id", "product_id", "reason", "requested_at", "refunded_at",
                              "amount"], returns),
    }


def main():
    files = build()
    if "--check" in sys.argv[1:]:
        wrong = [n for n, text in files.items()
                 if not (HERE / n).is_file() or (HERE / n).read_bytes() != text.encode("utf-8")]
        print("differs: " + ", ".join(wrong) if wrong else "all files are as made")
        return 1 if wrong else 0
    for name, text in files.items():
        (HERE / name).write_bytes(text.encode("utf-8"))
        print(f"{name}: {text.count(chr(10)) - 1} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
