import type { Tab } from './tab.ts';

/** How long a page may take, in milliseconds. */
const TIMEOUT = 30_000;

/** Does what a person does on the pages: looks for a text, clicks on it, fills a field. */
export class Visitor {
  readonly tab: Tab;
  readonly origin: string;

  constructor(tab: Tab, origin: string) {
    this.tab = tab;
    this.origin = origin;
  }

  async go(path: string): Promise<void> {
    await this.tab.goto(new URL(path, this.origin).href);
  }

  /** Waits until the page has loaded and an expression is truthy on it. Returns the value. */
  async until(expression: string): Promise<unknown> {
    for (const deadline = Date.now() + TIMEOUT; ; ) {
      // While one page replaces another there is nothing to ask.
      const value = await this.tab
        .evaluate(`document.readyState === 'complete' && (${expression})`)
        .catch(() => undefined);
      if (value) return value;
      if (Date.now() > deadline) {
        const shown = await this.tab.evaluate('[location.href, document.body.innerText]');
        throw new Error(`${expression} stays false on ${JSON.stringify(shown)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Waits until the page shows a text. */
  async see(text: string): Promise<void> {
    await this.until(`document.body.innerText.includes(${JSON.stringify(text)})`);
  }

  /** Clicks the first visible element that a selector finds, and that has exactly this text. */
  async click(selector: string, text: string): Promise<void> {
    await this.until(`((found) => {
      document.querySelector('[data-found]')?.removeAttribute('data-found');
      found?.setAttribute('data-found', '');
      return found !== undefined;
    })([...document.querySelectorAll(${JSON.stringify(selector)})].find((one) =>
      one.checkVisibility() &&
      one.textContent.replace(/\\s+/g, ' ').trim() === ${JSON.stringify(text)}))`);
    await this.tab.click('[data-found]');
  }

  press(button: string): Promise<void> {
    return this.click('button', button);
  }

  /** Types a text into a field instead of the one in it. */
  async fill(field: string, text: string): Promise<void> {
    await this.until(`document.querySelector(${JSON.stringify(field)})?.checkVisibility()`);
    await this.tab.click(field);
    await this.tab.evaluate(`document.querySelector(${JSON.stringify(field)}).select()`);
    await this.tab.press(text);
  }

  /** Sets a field for a day or a time: each engine has other keys for its parts. */
  async set(field: string, value: string): Promise<void> {
    await this.tab.evaluate(`((input) => {
      input.value = ${JSON.stringify(value)};
      for (const type of ['input', 'change'])
        input.dispatchEvent(new Event(type, { bubbles: true }));
    })(document.querySelector(${JSON.stringify(field)}))`);
  }
}
