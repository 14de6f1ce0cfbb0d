import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../local/service.ts';
import { type BrowserOptions, DEFAULTS, type Engine, type Tab } from './tab.ts';

const DRIVER = '/usr/bin/WebKitWebDriver';
const SCREEN = '/usr/bin/Xvfb';
const BROWSER = findBrowser();

/** The browser that comes with the engine, in a folder named by the processor and the version. */
function findBrowser(): string | undefined {
  if (!existsSync('/usr/lib')) return undefined;
  return readdirSync('/usr/lib')
    .filter((name) => name.endsWith('-linux-gnu'))
    .flatMap((name) => ['4.1', '6.0'].map((version) => `/usr/lib/${name}/webkit2gtk-${version}`))
    .map((folder) => join(folder, 'MiniBrowser'))
    .find(existsSync);
}

/** Without it the buttons above the page keep the window wider than a phone. */
const NARROW_BUTTONS =
  'button, entry, image, toolbar, toolbutton { min-width: 0; margin: 0; border: 0; padding: 0; }';

/** WebKit has no authenticator that a test could use, and in this browser no WebAuthn at all. */
export const webkit: Engine = {
  name: 'WebKit',
  isInstalled: BROWSER !== undefined && [DRIVER, SCREEN].every(existsSync),
  hasPasskeys: false,
  open: async (look) => openTab({ ...DEFAULTS, ...look }),
};

async function openTab({ colorScheme, javaScript }: BrowserOptions): Promise<Tab> {
  const home = mkdtempSync(join(tmpdir(), 'countersign-webkit-'));
  mkdirSync(join(home, 'gtk-3.0'));
  writeFileSync(join(home, 'gtk-3.0/gtk.css'), NARROW_BUTTONS);
  writeFileSync(join(home, 'gtk-3.0/settings.ini'), '[Settings]\ngtk-enable-animations=0\n');
  const screen = spawn(SCREEN, ['-displayfd', '1', '-screen', '0', '1400x1000x24'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [display] = await once(screen.stdout, 'data');
  const port = await freePort();
  const driver = spawn(DRIVER, [`--port=${port}`], {
    stdio: 'ignore',
    env: {
      ...process.env,
      DISPLAY: `:${String(display).trim()}`,
      GTK_THEME: colorScheme === 'dark' ? 'Adwaita:dark' : 'Adwaita',
      XDG_CONFIG_HOME: home,
    },
  });
  const session = await startSession(`http://127.0.0.1:${port}`, javaScript);
  return tabOf(session, async () => {
    await session('DELETE', '');
    await stop(driver);
    await stop(screen);
    rmSync(home, { recursive: true, maxRetries: 5, retryDelay: 200 });
  });
}

async function stop(program: ChildProcess): Promise<void> {
  const ended = once(program, 'exit');
  program.kill();
  await ended;
}

/** Sends a command of WebDriver (https://www.w3.org/TR/webdriver2/#endpoints) about a session. */
// biome-ignore lint/suspicious/noExplicitAny: results of the browser
type Send = (method: string, path: string, parameters?: object) => Promise<any>;

async function startSession(origin: string, javaScript: boolean): Promise<Send> {
  const args = ['--automation', `--enable-javascript=${javaScript}`];
  const alwaysMatch = { 'webkitgtk:browserOptions': { binary: BROWSER, args } };
  await waitFor(`${origin}/status`);
  const { sessionId } = await send('POST', `${origin}/session`, { capabilities: { alwaysMatch } });
  return (method, path, parameters) =>
    send(method, `${origin}/session/${sessionId}${path}`, parameters);
}

async function waitFor(address: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; ) {
    const answer = await fetch(address).catch(() => null);
    if (answer?.ok) return;
    if (Date.now() > deadline) throw new Error('the driver of WebKit did not start');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function send(method: string, address: string, parameters?: object) {
  const answer = await fetch(address, {
    method,
    ...(method === 'POST' && { body: JSON.stringify(parameters ?? {}) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: results of the browser
  const { value } = (await answer.json()) as { value: any };
  if (!answer.ok) throw new Error(`${value.error}: ${value.message}`);
  return value;
}

/** The characters of WebDriver for keys that have a name. */
const KEYS: Record<string, string> = {
  Tab: '\uE004',
  Enter: '\uE007',
  Escape: '\uE00C',
};

/** The key under which a result names an element. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

function tabOf(session: Send, close: () => Promise<void>): Tab {
  return {
    goto: (url) => session('POST', '/url', { url }),
    evaluate: async (expression) => {
      const script = `const answer = arguments[arguments.length - 1];
        (async () => (${expression}))().then(
          (value) => answer({ value }),
          (error) => answer({ fault: String(error) }),
        );`;
      const { value, fault } = await session('POST', '/execute/async', { script, args: [] });
      if (fault !== undefined) throw new Error(fault);
      return value;
    },
    click: async (value) => {
      const found = await session('POST', '/element', { using: 'css selector', value });
      await session('POST', `/element/${found[ELEMENT]}/click`);
    },
    press: async (key) => {
      const characters = KEYS[key] ? [KEYS[key]] : [...key];
      const actions = characters.flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]);
      await session('POST', '/actions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
    },
    resize: async (width, height) => {
      const bar = await session('POST', '/execute/sync', {
        script: 'return outerHeight - innerHeight',
        args: [],
      });
      await session('POST', '/window/rect', { width, height: height + bar });
    },
    screenshot: async () => {
      // The window is painted a moment after it was resized.
      const script = `const answer = arguments[0];
        requestAnimationFrame(() => setTimeout(answer, 100));`;
      await session('POST', '/execute/async', { script, args: [] });
      return Buffer.from(await session('GET', '/screenshot'), 'base64');
    },
    close,
  };
}
