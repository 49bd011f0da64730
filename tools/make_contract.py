#!/usr/bin/env python3
"""Write the long test contract and the list of what was planted in it.

usage: make_contract.py [OUTPUT_FOLDER]      (default: tests/data beside tools/)

The same clauses file always gives the same bytes. Writes contract_30k.txt and contract_30k.json.

Marks in contract_clauses.json:
  {def:KEY}       this line fixes the value of KEY       (removed from the text)
  {see:KEY}       reference to the section that fixes it (becomes "Section 3.1")
  [a|b]           one of the alternatives
  {n:LO-HI:STEP}  integer      {m:..}  integer with thousands separators      {p:LO-HI}  one decimal
  {date}, {town}  a date, a word of a list; {goods}, {site}, {unit} belong to the annex; {goods^} capitalised
"""
import json
import random
import re
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
SEED = 20340514
CLAUSES_PER_ANNEX = 33
BYTES_PER_TOKEN = 4.4
MARK = re.compile(r"\{(def|see):(\w+)\}")
SLOT = re.compile(r"\{([a-z]+)(\^?)(?::(\d+(?:\.\d)?)-(\d+(?:\.\d)?)(?::(\d+))?)?\}")
CHOICE = re.compile(r"\[([^\[\]]+\|[^\[\]]+)\]")
MEANS = re.compile(r'^"([^"]+)" means ')


class Filler:
    """Fills the slots of a clause; never gives the same line twice."""

    def __init__(self, words):
        self.random = random.Random(SEED)
        self.words = words
        self.given = set()

    def number(self, low, high, step):
        return self.random.randrange(int(low), int(high) + 1, int(step or 1))

    def date(self):
        month = self.random.choice(self.words["month"])
        return f"{self.random.randint(1, 28)} {month} {self.random.randint(2035, 2041)}"

    def slot(self, name, low, high, step, own):
        if name == "n":
            return str(self.number(low, high, step))
        if name == "m":
            return f"{self.number(low, high, step):,}"
        if name == "p":
            return f"{self.random.randint(round(float(low) * 10), round(float(high) * 10)) / 10:.1f}"
        if name == "date":
            return self.date()
        return own[name] if name in own else self.random.choice(self.words[name])

    def once(self, template, own):
        def put(match):
            name, capital, low, high, step = match.groups()
            text = self.slot(name, low, high, step, own)
            return text[0].upper() + text[1:] if capital else text

        text = CHOICE.sub(lambda match: self.random.choice(match[1].split("|")), template)
        return SLOT.sub(put, text)

    def line(self, template, own):
        for _ in range(100):
            text = self.once(template, own)
            if text not in self.given:
                self.given.add(text)
                return text
        raise ValueError(f"cannot vary: {template}")


def deal(clauses, hands, size, source):
    """Deals `size` different clauses to each hand; every clause is used about equally often."""
    deck, dealt = [], []
    for _ in range(hands):
        hand = []
        while len(hand) < size:
            if not deck:
                deck = list(range(len(clauses)))
                source.shuffle(deck)
            index = next((i for i in deck if i not in hand), None)
            if index is None:
                deck = []
                continue
            deck.remove(index)
            hand.append(index)
        dealt.append([clauses[i] for i in hand])
    return dealt


def annex_article(annex, clauses, filler):
    own = {key: annex[key] for key in ("goods", "unit", "site")}
    sections = [[filler.once(clause[0], own)] + [filler.line(text, own) for text in clause[1:]] for clause in clauses]
    for number, extra in enumerate(annex["extra"]):
        sections.insert(len(sections) // 2 + number, extra)
    return {"title": f"ANNEX FOR {own['goods'].upper()} AT {own['site'].upper()}", "sections": sections}


def articles_of(source):
    filler = Filler(source["words"])
    hands = deal(source["clauses"], len(source["annexes"]), CLAUSES_PER_ANNEX, filler.random)
    pairs = zip(source["annexes"], hands)
    return source["body"] + [annex_article(annex, hand, filler) for annex, hand in pairs]


def lay_out(source):
    """The text as (section number, line with marks); headings and blank lines included."""
    lines = []
    for text in source["preamble"]:
        lines += [("", text), ("", "")]
    for article_number, article in enumerate(articles_of(source), 1):
        lines += [("", f"ARTICLE {article_number}. {article['title']}"), ("", "")]
        for section_number, section in enumerate(article["sections"], 1):
            number = f"{article_number}.{section_number}"
            lines.append((number, f"{number} {section[0]}"))
            lines += [(number, text) for text in section[1:]] + [("", "")]
    lines.append(("", "Signed in Lindenmouth on 14 May 2034 for the Purchaser, the Supplier, the Parent and the Escrow Agent."))
    return lines


def plant(lines, terms):
    """Replaces the marks; returns the text lines and the records of references and definitions."""
    place = {}
    for line_number, (section, text) in enumerate(lines, 1):
        for kind, key in MARK.findall(text):
            if kind == "def":
                place[key] = (line_number, section)
    out, references, defined = [], [], []
    for line_number, (section, text) in enumerate(lines, 1):
        for kind, key in MARK.findall(text):
            if kind == "see":
                references.append(record(len(references) + 1, line_number, section, place[key], terms[key]))
        text = MARK.sub(lambda mark: f"Section {place[mark[2]][1]}" if mark[1] == "see" else "", text)
        if match := MEANS.match(text):
            defined.append({"term": match[1], "line": line_number})
        out.append(text)
    return out, references, defined


def record(number, line, section, target, term):
    return {"id": f"x{number:02}", "from_line": line, "to_line": target[0], "from_section": section,
            "to_section": target[1], "term": term[0], "value": term[1]}


def write(folder):
    source = json.loads((DATA / "contract_clauses.json").read_text(encoding="utf-8"))
    lines, references, defined = plant(lay_out(source), source["terms"])
    text = "\n".join(lines) + "\n"
    facts = {"schema": "attend.contract", "version": 1, "document": "contract_30k", "bytes_per_token": BYTES_PER_TOKEN,
             "cross_references": references, "defined_terms": defined}
    (folder / "contract_30k.txt").write_bytes(text.encode("utf-8"))
    (folder / "contract_30k.json").write_bytes((json.dumps(facts, indent=1) + "\n").encode("utf-8"))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
