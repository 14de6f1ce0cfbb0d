/** Changes a path as somebody does who wants to reach what a rule denies. */
export const PATH_TRICKS: Record<string, (path: string) => string> = {
  none: (path) => path,
  'letters encoded': (path) => path.replace(/[a-z]/, (letter) => percent(letter)),
  'letters encoded in upper case': (path) =>
    path.replace(/[j-o]/, (letter) => percent(letter).toUpperCase()),
  'letters encoded twice': (path) => path.replace(/[a-z]/, (letter) => `%25${hex(letter)}`),
  'dot segment': (path) => `/public/..${adminOf(path)}`,
  'dot segment at the end': (path) => `${path}/..`,
  'single dots': (path) => `/.${path}/.`,
  'encoded dots': (path) => `/public/%2e%2E${adminOf(path)}`,
  'half encoded dots': (path) => `/public/.%2e${adminOf(path)}`,
  'dots encoded twice': (path) => `/public/%252e%252e${adminOf(path)}`,
  'dots encoded four times': (path) => `/public/%2525252e%2525252e${adminOf(path)}`,
  'overlong dots': (path) => `/public/%c0%ae%c0%ae${adminOf(path)}`,
  'overlong slash': (path) => `/public/..%c0%af${adminOf(path).slice(1)}`,
  'encoded slash': (path) => `/public/..%2f${adminOf(path).slice(1)}`,
  'slash encoded twice': (path) => `/public/..%252F${adminOf(path).slice(1)}`,
  'dots with parameters': (path) => `/public/..;a=b${adminOf(path)}`,
  'encoded parameters': (path) => `/public/..%3b${adminOf(path)}`,
  parameters: (path) => `${path};jsessionid=1`,
  backslashes: (path) => `/public\\..\\${adminOf(path).slice(1)}`,
  'encoded backslashes': (path) => `/public%5c..%5C${adminOf(path).slice(1)}`,
  'empty segment': (path) => `/${path}`,
  'empty segments': (path) => `/public//..//${adminOf(path)}`,
  'encoded empty segment': (path) => `/public/%2f..${adminOf(path)}`,
  NUL: (path) => `${path}%00.json`,
  'line break': (path) => `${path}%0d%0aX-Injected:%201`,
  tab: (path) => `/public/.%09.${adminOf(path)}`,
  'wide dots': (path) => `/public/\uff0e\uff0e${adminOf(path)}`,
  'not UTF-8': (path) => `${path}/%ff`,
  'broken encoding': (path) => `${path}/%2`,
  'IIS encoding': (path) => `/public/%u002e%u002e${adminOf(path)}`,
  'encoded question mark': (path) => `${path}%3Fx=1`,
  'encoded fragment': (path) => `${path}%23x`,
  fragment: (path) => `${path}#/../admin`,
  'absolute address': () => '/https://evil.example/',
  authority: () => '/@evil.example/',
  'another host': () => '//evil.example/public/a',
  'no slash': (path) => path.slice(1),
  'upper case': (path) => path.toUpperCase(),
};

function hex(letter: string): string {
  return letter.charCodeAt(0).toString(16);
}

function percent(letter: string): string {
  return `%${hex(letter)}`;
}

function adminOf(path: string): string {
  return path.startsWith('/admin') ? path : '/admin/keys';
}
