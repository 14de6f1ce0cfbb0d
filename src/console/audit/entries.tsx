import type { AuditSearch } from '../../audit/list';
import { usePage } from '../frame/page-context';
import { Empty, LinkButton, NextPage, PAGE_SIZE, withParameters } from '../parts/blocks';
import { Time } from '../parts/inline';
import { pluralOf } from '../parts/words';
import { EntryList } from './entry-list';
import { auditAddress, type Filters, isNarrowed, isUnfiltered } from './filters';

/**
 * How many pages the script loads by itself, one after the other, to find enough entries. Each is a
 * request of its own.
 */
const MAX_LOOKS = 20;

/** How far the script has looked for entries. */
export interface Progress {
  /** How many pages it has loaded by itself. */
  looks: number;
  /** How many entries the pages of this search had so far. */
  found: number;
  /** Whether it began with the first page of the list. */
  isFromStart: boolean;
}

/** Reads the progress from the address of a page, or of a part that the script loads. */
export function readProgress(read: (name: string) => string | undefined): Progress {
  const count = (name: string) => {
    const text = read(name) ?? '';
    return /^\d{1,4}$/.test(text) ? Number(text) : 0;
  };
  const isFromStart = !read('cursor') || read('start') === 'yes';
  return { looks: count('looks'), found: count('found'), isFromStart };
}

interface EntriesProps {
  search: AuditSearch;
  /** The filters of the address, which the links of the cells add to. */
  filters: Filters;
  /** The filters with a start in place of the period, so that the next pages have the same one. */
  shown: Filters;
  timeZone: string;
  progress: Progress;
  origin: string;
}

/** The entries of a page, and the way to the next ones. */
export function Entries({ search, filters, shown, timeZone, origin, ...props }: EntriesProps) {
  const { page, examinedTo } = search;
  const found = props.progress.found + page.data.length;
  const progress = { ...props.progress, found };
  const address = new URL(auditAddress(shown), origin);
  const saysFound = isNarrowed(filters) && examinedTo === null && progress.looks === 0 && found > 0;
  return (
    <>
      {saysFound && (
        <p class="soft">
          <Matches {...progress} />
          {page.has_more && ', and more follow'}.
        </p>
      )}
      {page.data.length > 0 && (
        <EntryList entries={page.data} filters={filters} timeZone={timeZone} />
      )}
      {examinedTo !== null && page.next_cursor !== null && (
        <Further
          examinedTo={examinedTo}
          address={withParameters(address, { cursor: page.next_cursor })}
          progress={progress}
          isForward={filters.order === 'asc'}
        />
      )}
      {examinedTo === null && (
        <>
          {found === 0 && (
            <Nothing filters={filters} hasMore={page.has_more} isFromStart={progress.isFromStart} />
          )}
          {progress.looks > 0 && found > 0 && !page.has_more && (
            <p class="soft">
              All entries were looked at. <Matches {...progress} />.
            </p>
          )}
          <NextPage
            page={page}
            address={address}
            label={filters.order === 'asc' ? 'Newer' : 'Older'}
          />
        </>
      )}
    </>
  );
}

interface FurtherProps {
  examinedTo: string;
  address: string;
  progress: Progress;
  isForward: boolean;
}

/**
 * Says how far the log was searched, with the way to search on. The script goes on by itself until
 * a page is full, or {@link MAX_LOOKS} pages were loaded.
 */
function Further({ examinedTo, address, progress, isForward }: FurtherProps) {
  const { looks, found, isFromStart } = progress;
  const { nonce } = usePage();
  const goesOn = found < PAGE_SIZE && looks < MAX_LOOKS;
  const part = withParameters(new URL(address, 'https://console'), {
    part: 'further',
    looks: String(looks + 1),
    found: String(found),
    start: isFromStart ? 'yes' : null,
  });
  const attributes = goesOn && {
    'hx-nonce': nonce,
    'hx-get': part,
    'hx-trigger': 'load',
    'hx-swap': 'outerHTML',
  };
  return (
    <div class="further" {...attributes}>
      <p role="status">
        Looked {isForward ? 'up to' : 'back to'} <Time at={examinedTo} />. <Matches {...progress} />{' '}
        so far.
      </p>
      <p class="actions">
        <LinkButton href={address} label="Look further" kind="quiet" rel="next" />
      </p>
    </div>
  );
}

/** Says how many entries match, not counting pages before the one where the search began. */
function Matches({ found, isFromStart }: Pick<Progress, 'found' | 'isFromStart'>) {
  const { formatNumber } = usePage();
  const further = isFromStart ? '' : 'further ';
  if (found === 0) return <>No {further}entry matches</>;
  return (
    <>
      {formatNumber(found)} {further}
      {pluralOf(found, 'entry matches', 'entries match')}
    </>
  );
}

interface NothingProps {
  filters: Filters;
  hasMore: boolean;
  isFromStart: boolean;
}

function Nothing({ filters, hasMore, isFromStart }: NothingProps) {
  if (hasMore)
    return <Empty title="The entries of this page are being erased. Go on to the next page." />;
  if (!isUnfiltered(filters)) {
    return (
      <Empty title={`No ${isFromStart ? '' : 'further '}entry matches these filters.`}>
        <p>
          <a href={auditAddress({}, { order: filters.order ?? null })}>Show all entries</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="The log has no entries yet.">
      <p>It gets one whenever an agent asks, somebody decides, or a token is used.</p>
    </Empty>
  );
}
