import { existsSync } from 'node:fs';
import { type Browser, type KeyInput, launch, type Page } from 'puppeteer-core';
import { CHROMIUM } from '../local/console.ts';
import { type BrowserOptions, DEFAULTS, type Engine, type Tab } from './tab.ts';

const FIREFOX = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find(existsSync);

export const chromium: Engine = {
  name: 'Chromium',
  isInstalled: CHROMIUM !== undefined,
  hasPasskeys: true,
  open: async (look) => {
    const { colorScheme, javaScript } = { ...DEFAULTS, ...look };
    const browser = await launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
    const page = await openPage(browser);
    await page.setJavaScriptEnabled(javaScript);
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: colorScheme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]);
    const client = await page.createCDPSession();
    await client.send('WebAuthn.enable');
    await client.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return tabOf(browser, page);
  },
};

export const firefox: Engine = {
  name: 'Firefox',
  isInstalled: FIREFOX !== undefined,
  hasPasskeys: true,
  open: async (look) => {
    const browser = await launch({
      browser: 'firefox',
      executablePath: FIREFOX ?? '',
      args: ['--remote-allow-system-access'],
      extraPrefsFirefox: firefoxSettings({ ...DEFAULTS, ...look }),
    });
    const page = await openPage(browser);
    await prepareFirefox(browser);
    return tabOf(browser, page);
  },
};

function firefoxSettings({ colorScheme, javaScript }: BrowserOptions) {
  return {
    'layout.css.prefers-color-scheme.content-override': colorScheme === 'dark' ? 0 : 1,
    'javascript.enabled': javaScript,
    'ui.prefersReducedMotion': 1,
    'security.webauth.webauthn_enable_softtoken': true,
    'security.webauth.webauthn_enable_usbtoken': false,
  };
}

async function openPage(browser: Browser): Promise<Page> {
  const [first] = await browser.pages();
  return first ?? browser.newPage();
}

/** The part of Puppeteer that sends commands for which it has no method. */
interface RawConnection {
  connection: {
    // biome-ignore lint/suspicious/noExplicitAny: results of the browser
    send(method: string, parameters: object): Promise<{ result: any }>;
  };
}

/**
 * Adds an authenticator, for which WebDriver BiDi has no command, and the focus to the page: without
 * it no passkey is used.
 */
async function prepareFirefox(browser: Browser): Promise<void> {
  const { connection } = browser as unknown as RawConnection;
  const { result } = await connection.send('browsingContext.getTree', { 'moz:scope': 'chrome' });
  await connection.send('script.evaluate', {
    expression: `Cc['@mozilla.org/webauthn/service;1']
      .getService(Ci.nsIWebAuthnService)
      .addVirtualAuthenticator('ctap2_1', 'internal', true, true, true, true);
      window.focus();
      gBrowser.selectedBrowser.focus();`,
    target: { context: result.contexts[0].context },
    awaitPromise: false,
  });
}

function tabOf(browser: Browser, page: Page): Tab {
  return {
    goto: async (address) => {
      await page.goto(address);
    },
    evaluate: (expression) => page.evaluate(expression),
    click: async (selector) => {
      // Without Puppeteer's own `click`: where JavaScript is switched off it never ends in Firefox.
      const place = (await page.evaluate(placeOf(selector))) as [x: number, y: number];
      await page.mouse.click(...place);
    },
    press: async (key) => {
      if (key.length > 1 && /^[A-Z][A-Za-z]+$/.test(key))
        await page.keyboard.press(key as KeyInput);
      else await page.keyboard.type(key);
    },
    resize: (width, height) => page.setViewport({ width, height }),
    screenshot: () => page.screenshot(),
    close: () => browser.close(),
  };
}

/** An expression that brings an element into the window, and returns where its middle is. */
function placeOf(selector: string): string {
  return `(() => {
    const element = document.querySelector(${JSON.stringify(selector)});
    element.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { x, y, width, height } = element.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  })()`;
}
