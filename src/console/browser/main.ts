import { startBrush } from './brush';
import { watchConnection } from './connection';
import { startCopying } from './copy';
import { startKeys } from './keys';
import { startPasskeys } from './passkeys';
import { pauseLiveParts } from './pauses';
import { submitOnce } from './submit-once';
import { localizeTimes } from './times';
import { startVerify } from './verify-button';
import { showScripted } from './with-script';

localizeTimes(document);
setInterval(() => localizeTimes(document), 30_000);
// htmx replaces parts of the page: their times are UTC again, and what they say may change the title.
document.addEventListener('htmx:after:swap', () => {
  localizeTimes(document);
  const title = document.querySelector<HTMLElement>('[data-title]')?.dataset.title;
  if (title !== undefined) document.title = title;
});
showScripted();
startPasskeys();
submitOnce(window);
startKeys();
startCopying();
startBrush();
startVerify();
pauseLiveParts();
watchConnection();
