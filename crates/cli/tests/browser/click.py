"""Goes through pages as a person would, in Debian's chromium, driven by Selenium.

    click.py BROWSER PAGE…

Opens each page, folds out what is folded, clicks on steps and buttons and presses keys. Prints what it saw, a line of
JSON for each page: `findings`, a list, and `console`, what the browser complained of.
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


def go_through(driver, board):
    """What the panel says, and where it is, after each thing done with an execution."""
    def position():
        return part(board, ".position").text

    def panel():
        return part(board, ".panel").text

    def click_beside():
        """The step before the one at hand, or behind it: those can be seen."""
        steps = parts(board, ".step")
        now = next(i for i, step in enumerate(steps) if "now" in step.get_attribute("class").split())
        beside = steps[now - 1] if now > 0 else steps[-1]
        text = beside.text.split("\n")[0]
        beside.click()
        seen["clicked"] = [position(), panel(), text]

    seen = {"opened": [position(), panel()]}
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", part(board, ".board"))
    # Only what can be seen is in the page: where the browser scrolls to click, steps are made anew.
    for attempt in range(5):
        try:
            click_beside()
            break
        except StaleElementReferenceException:
            if attempt == 4:
                raise
    lanes = part(board, ".lanes")
    for name, key in (("home", Keys.HOME), ("right", Keys.ARROW_RIGHT), ("left", Keys.ARROW_LEFT), ("end", Keys.END)):
        lanes.send_keys(key)
        seen[name] = [position(), panel()]
    back = parts(board, ".tools button")[1]
    click(driver, back)
    seen["back"] = [position(), panel()]
    boxes = parts(board, ".tools input[type=checkbox]")
    for box in boxes:
        click(driver, box)
    seen["everything"] = [position(), panel()]
    seen["arrows"] = len(parts(board, "svg path"))
    relations = parts(board, ".panel .tools button")
    if relations:
        click(driver, relations[0])
        seen["followed"] = [position(), panel()]
    return seen


def look(driver, page):
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
            "executions": [go_through(driver, board) for board in tools],
        })
    console = [entry["message"] for entry in driver.get_log("browser")]
    return {"findings": findings, "console": console}


def main():
    driver = start(sys.argv[1])
    try:
        for page in sys.argv[2:]:
            print(json.dumps(look(driver, page)), flush=True)
    finally:
        driver.quit()


main()
