"""Adds up sales.csv by product and writes report.md beside it.

Both lie in the file system that the capsule mounts at /mnt/data, so the report is still there when
the machine is gone.
"""

import csv
import decimal
import pathlib

FOLDER = pathlib.Path(__file__).parent


def read_sales():
    """Product -> [quantity, revenue], exact to the cent."""
    products = {}
    with open(FOLDER / "sales.csv", newline="", encoding="utf-8") as file:
        for sale in csv.DictReader(file):
            entry = products.setdefault(sale["product"], [0, decimal.Decimal(0)])
            entry[0] += int(sale["quantity"])
            entry[1] += int(sale["quantity"]) * decimal.Decimal(sale["price"])
    return products


def write_report(products):
    best_first = sorted(products.items(), key=lambda item: item[1][1], reverse=True)
    table = ["| Product | Sold | Revenue |", "|:--------|-----:|--------:|"]
    table += [f"| {name} | {sold} | {revenue:.2f} |" for name, (sold, revenue) in best_first]
    total = sum(revenue for _, revenue in products.values())
    text = "\n".join(["# October sales", "", *table, "", f"**Total revenue: {total:.2f}**", ""])
    (FOLDER / "report.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_report(read_sales())
