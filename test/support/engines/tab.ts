/** How a browser is opened. */
export interface BrowserOptions {
  colorScheme: 'light' | 'dark';
  javaScript: boolean;
}

export const DEFAULTS: BrowserOptions = { colorScheme: 'light', javaScript: true };

/** A browser with one tab. Tests do everything else by expressions that the page evaluates. */
export interface Tab {
  goto(address: string): Promise<void>;
  /** The value, as JSON, of an expression of JavaScript. A promise is awaited. */
  evaluate(expression: string): Promise<unknown>;
  /** Clicks the first element that a CSS selector finds. */
  click(selector: string): Promise<void>;
  /** Types a text, or presses a key by its name, such as `Tab`, where the focus is. */
  press(key: string): Promise<void>;
  /** Sets the width and height of the page in the window. */
  resize(width: number, height: number): Promise<void>;
  /** A picture of the window. */
  screenshot(): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** A browser engine in which the console is tested. */
export interface Engine {
  name: string;
  /** Whether its browser is installed. */
  isInstalled: boolean;
  /** Whether a tab has an authenticator that makes passkeys and signs without asking anybody. */
  hasPasskeys: boolean;
  open(options?: Partial<BrowserOptions>): Promise<Tab>;
}
