import { watchConnection } from './connection';
import { startCopying } from './copy';
import { startKeys } from './keys';
import { startPasskeys } from './passkeys';
import { localizeTimes } from './times';

localizeTimes(document);
setInterval(() => localizeTimes(document), 30_000);
// htmx replaces parts of the page: their times are UTC again, and what they say may change the title.
document.addEventListener('htmx:after:swap', () => {
  localizeTimes(document);
  const title = document.querySelector<HTMLElement>('[data-title]')?.dataset.title;
  if (title !== undefined) document.title = title;
});
startPasskeys();
startKeys();
startCopying();
watchConnection();
