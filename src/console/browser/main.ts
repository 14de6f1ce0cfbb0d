import { startBrush } from './brush';
import { startCopying } from './copy';
import { markEmptyDates } from './empty-dates';
import { startKeys } from './keys';
import {
  endDecision,
  keepChecks,
  keepOpen,
  pauseLiveParts,
  warnIfOffline,
  watchConnection,
} from './live';
import { startNotifying } from './notify';
import { startPasskeys } from './passkeys';
import { startPush } from './push';
import { startRenewing } from './renew';
import { submitOnce } from './submit-once';
import { fillInTimeZone, localizeTimes } from './times';
import { startVerify } from './verify-button';
import { showWaitingCount } from './waiting-count';

localizeTimes(document);
setInterval(() => localizeTimes(document), 30_000);
// htmx replaces parts of the page: their times are UTC again, and what they say may change the
// title.
document.addEventListener('htmx:after:swap', () => {
  localizeTimes(document);
  const title = document.querySelector<HTMLElement>('[data-title]')?.dataset.title;
  if (title === undefined) return;
  document.title = title;
  showWaitingCount(title);
});
// What works only with the script.
for (const element of document.querySelectorAll<HTMLElement>('[data-with-script]'))
  element.hidden = false;
// On a phone these strips scroll sideways. The style sheet keeps the current one in sight; this
// shows it at its place, after the one before it.
for (const before of document.querySelectorAll<HTMLElement>(
  ':is(.tabs, .pills) > :has(+ [aria-current])',
)) {
  const strip = before.parentElement;
  strip?.scrollTo({ left: before.offsetLeft - strip.offsetLeft });
}
fillInTimeZone(document);
markEmptyDates();
startPasskeys();
startPush();
startNotifying();
startRenewing();
submitOnce(window, warnIfOffline);
startKeys();
startCopying();
startBrush();
startVerify();
pauseLiveParts();
keepChecks();
keepOpen();
endDecision();
watchConnection();
