"""Goes through pages as a person would, in Debian's chromium, driven by Selenium.

    click.py BROWSER [--open] PAGE…

Opens each page, folds out what is folded, clicks on steps and buttons and presses keys; with --open does no more than
the first two. Prints what it saw, a line of
JSON for each page: `findings`, `charts` and litmus `tests`, lists, and `console`, what the browser complained of.
"""

import json
import sys
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def start(browser):
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1400,1200"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def parts(node, selector):
    return node.find_elements(By.CSS_SELECTOR, selector)


def part(node, selector):
    return node.find_element(By.CSS_SELECTOR, selector)


def click(driver, node):
    """Clicks where a person would: in the middle of what can be seen."""
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", node)
    node.click()


def at_hand(driver, board):
    """Which step is shown, and what the panel says of it."""
    script = """const board = arguments[0];
        return [board.querySelector('.position').textContent, board.querySelector('.panel').innerText]"""
    return driver.execute_script(script, board)


def click_beside(driver, board):
    """Clicks on the step before the one at hand, or behind it: those can be seen."""
    script = """const steps = [...arguments[0].querySelectorAll('.step')];
        const now = steps.findIndex((step) => step.classList.contains('now'));
        const beside = now > 0 ? steps[now - 1] : steps[steps.length - 1];
        return [beside, beside.innerText.split('\\n')[0]]"""
    # Only what can be seen is in the page: where the browser scrolls to click, steps are made anew.
    for _ in range(5):
        beside, text = driver.execute_script(script, board)
        try:
            beside.click()
            return text
        except StaleElementReferenceException:
            pass
    raise AssertionError("a step is made anew whenever it is clicked on")


def go_through(driver, board):
    """What the panel says, and where it is, after each thing done with an execution."""
    seen = {"opened": at_hand(driver, board)}
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", part(board, ".board"))
    text = click_beside(driver, board)
    seen["clicked"] = [*at_hand(driver, board), text]
    lanes = part(board, ".lanes")
    for name, key in (("home", Keys.HOME), ("right", Keys.ARROW_RIGHT), ("left", Keys.ARROW_LEFT), ("end", Keys.END)):
        lanes.send_keys(key)
        seen[name] = at_hand(driver, board)
    click(driver, parts(board, ".tools button")[1])
    seen["back"] = at_hand(driver, board)
    for box in parts(board, ".tools input[type=checkbox]"):
        click(driver, box)
    seen["everything"] = at_hand(driver, board)
    seen["arrows"] = len(parts(board, "svg path"))
    relations = parts(board, ".panel .tools button")
    if relations:
        click(driver, relations[0])
        seen["followed"] = at_hand(driver, board)
    return seen


def go_through_test(driver, section):
    """What a litmus test shows of each state: by model the words above the execution, its steps, and how many of them
    are marked as a cycle."""
    states = []
    for row in parts(section, "tbody tr"):
        click(driver, row)
        models = {}
        for model in parts(section, ".model"):
            words = [text.text for text in parts(model, ":scope > p")]
            steps = [step.text.split("\n")[0] for step in parts(model, ".step")]
            models[part(model, "h3").text] = [words, steps, len(parts(model, ".step.cycle"))]
        states.append({"row": [cell.text for cell in parts(row, "td")], "chosen": row.get_attribute("class"),
                       "models": models})
    return {"title": part(section, "h2").text, "states": states}


def look(driver, page, goes_through):
    driver.get(Path(page).resolve().as_uri())
    findings = []
    for link in parts(driver, "nav a"):
        click(driver, link)
    for section in parts(driver, "section.finding"):
        for summary in parts(section, ":scope > details > summary"):
            click(driver, summary)
        boards = parts(section, ".board")
        tools = [driver.execute_script("return arguments[0].parentNode", board) for board in boards]
        findings.append({
            "title": part(section, "h2").text,
            "message": part(section, "p strong").text,
            "folded": [not details.get_attribute("open") for details in parts(section, "details")],
            "executions": [go_through(driver, board) if goes_through else at_hand(driver, board) for board in tools],
        })
    charts = [chart.text for chart in parts(driver, "svg.chart")]
    tests = [go_through_test(driver, section) for section in parts(driver, "section.litmus")]
    console = [entry["message"] for entry in driver.get_log("browser")]
    return {"findings": findings, "charts": charts, "tests": tests, "console": console}


def main():
    driver = start(sys.argv[1])
    try:
        pages = [page for page in sys.argv[2:] if page != "--open"]
        for page in pages:
            print(json.dumps(look(driver, page, len(pages) == len(sys.argv) - 2)), flush=True)
    finally:
        driver.quit()


main()
