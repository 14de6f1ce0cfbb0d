import { Activity, ActivityList as ActivityQuery, listActivity } from '../../audit/list-activity';
import { listOrRefusal, type Refusal, type Typed, validate } from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Empty, NextPage, withParameters } from '../parts/blocks';
import { SelectField, TextField } from '../parts/fields';
import { Alert } from '../parts/form';
import { Named } from '../parts/inline';
import { RefusalProvider } from '../parts/refusal';
import type { ConsoleContext } from '../session/access';
import { ActivityList, actionLabel } from './activity-list';

const NAMED = ['people', 'agents', 'policies', 'webhooks', 'channels', 'connections'] as const;
const FILTERS = ['actor', 'action', 'target', 'start_date', 'end_date'] as const;

/**
 * Shows what people did to the account, newest first. The filters are those of the API, in the
 * address.
 */
export async function showActivity(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const typed = readQuery(c);
  const [{ page, refusal }, names] = await Promise.all([
    listOrRefusal(async () => listActivity(context, validate(ActivityQuery(), typed))),
    loadNames(context, NAMED),
  ]);
  const address = new URL(c.req.url);
  const children = (
    <>
      <p class="soft">
        The changes that people made to the account. The audit log has what agents asked for and
        did.
      </p>
      <Filters typed={typed} refusal={refusal} address={address} />
      {page.data.length > 0 && <ActivityList records={page.data} />}
      {page.data.length === 0 && !refusal && (
        <Empty title="No activity matches.">
          <p class="soft">
            Choose other filters, or <a href="/console/activity">show everything</a>.
          </p>
        </Empty>
      )}
      <NextPage page={page} address={address} />
    </>
  );
  return sendPage(c, { title: 'Activity', names, status: refusal?.status, children });
}

/**
 * The filters and the cursor in the address. Empty ones, which an untouched form sends, count as
 * absent.
 */
function readQuery(c: ConsoleContext): Typed {
  const given = [...FILTERS, 'cursor'].map((name) => [name, c.req.query(name) ?? '']);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

function Filters({
  typed,
  refusal,
  address,
}: {
  typed: Typed;
  refusal: Refusal | undefined;
  address: URL;
}) {
  const { names } = usePage();
  const { actor = '', target } = typed;
  const people = [...names].filter(([id]) => id.startsWith('member_'));
  const actors: [string, string][] = [['', 'Everybody'], ...people, ['operator', 'The operator']];
  if (!actors.some(([id]) => id === actor)) actors.push([actor, names.get(actor) ?? actor]);
  const actions: [string, string][] = Activity().shape.action.options.map((action) => [
    action,
    actionLabel(action),
  ]);
  return (
    <>
      <form method="get" action="/console/activity" class="filters">
        {refusal && (
          <Alert>
            {refusal.faults.size > 0
              ? 'Nothing was searched. Correct the marked fields.'
              : refusal.detail}
          </Alert>
        )}
        {target !== undefined && <input type="hidden" name="target" value={target} />}
        <RefusalProvider value={refusal}>
          <SelectField label="Who" name="actor" value={actor} options={actors} />
          <SelectField
            label="Did what"
            name="action"
            value={typed.action}
            options={[['', 'Everything'], ...actions]}
          />
          <TextField label="From" name="start_date" type="date" value={typed.start_date} />
          <TextField label="To" name="end_date" type="date" value={typed.end_date} />
        </RefusalProvider>
        <button type="submit" class="quiet">
          Show
        </button>
      </form>
      {target !== undefined && (
        <p>
          Only what was done to <Named id={target} />.{' '}
          <a href={withParameters(address, { target: null, cursor: null })}>Show everything</a>
        </p>
      )}
    </>
  );
}
