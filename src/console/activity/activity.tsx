import { ActivityList as ActivityQuery, listActivity } from '../../audit/list-activity';
import { ACTIVITY_ACTIONS } from '../../db/schema';
import { type Refusal, refusalOf, type Typed, validate } from '../frame/form';
import { loadNames, type Names } from '../frame/names';
import { sendPage } from '../frame/page';
import { SelectField, TextField } from '../parts/form';
import { Empty, NextPage, withParameters } from '../parts/list';
import { Named } from '../parts/text';
import type { ConsoleContext } from '../session/access';
import { ActivityList } from './activity-list';
import { actionLabel } from './words';

const FILTERS = ['actor', 'action', 'target', 'start_date', 'end_date'] as const;

/** Shows what people did to the account, newest first. The filters are those of the API, in the address. */
export async function showActivity(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const typed = readQuery(c);
  const names = loadNames(context, ['people', 'agents', 'policies']);
  const search = async () => {
    try {
      return { page: await listActivity(context, validate(ActivityQuery(), typed)), refusal: undefined };
    } catch (error) {
      return { page: { data: [], has_more: false, next_cursor: null }, refusal: refusalOf(error) };
    }
  };
  const [{ page, refusal }, loaded] = await Promise.all([search(), names]);
  const address = new URL(c.req.url);
  const children = (
    <>
      <p class="soft">What people did to the account itself. What agents asked for and did is in the audit log.</p>
      <Filters typed={typed} names={loaded} refusal={refusal} address={address} />
      {page.data.length > 0 && <ActivityList records={page.data} names={loaded} scopes={context.principal.scopes} />}
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
  return sendPage(c, { title: 'Activity', status: refusal?.status, children });
}

/** The filters and the cursor in the address. Empty ones, which an untouched form sends, count as absent. */
function readQuery(c: ConsoleContext): Typed {
  const given = [...FILTERS, 'cursor'].map((name) => [name, c.req.query(name) ?? '']);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

interface FiltersProps {
  typed: Typed;
  names: Names;
  refusal: Refusal | undefined;
  address: URL;
}

function Filters({ typed, names, refusal, address }: FiltersProps) {
  const { actor = '', target } = typed;
  const people = [...names].filter(([id]) => id.startsWith('member_'));
  const actors: [string, string][] = [['', 'Everybody'], ...people, ['operator', 'The operator']];
  if (!actors.some(([id]) => id === actor)) actors.push([actor, names.get(actor) ?? actor]);
  const actions: [string, string][] = ACTIVITY_ACTIONS.map((action) => [action, actionLabel(action)]);
  return (
    <>
      <form method="get" action="/console/activity" class="filters">
        {refusal && (
          <p class="notice bad" role="alert">
            {refusal.faults.size > 0 && !refusal.faults.has('cursor')
              ? 'Nothing was searched. Correct what is marked.'
              : refusal.detail}
          </p>
        )}
        {target !== undefined && <input type="hidden" name="target" value={target} />}
        <SelectField label="Who" name="actor" value={actor} options={actors} refusal={refusal} />
        <SelectField
          label="Did what"
          name="action"
          value={typed.action}
          options={[['', 'Everything'], ...actions]}
          refusal={refusal}
        />
        <TextField label="From" name="start_date" type="date" value={typed.start_date} refusal={refusal} />
        <TextField label="To" name="end_date" type="date" value={typed.end_date} refusal={refusal} />
        <button type="submit" class="quiet">
          Show
        </button>
      </form>
      {target !== undefined && (
        <p>
          Only what was done to <Named id={target} names={names} />.{' '}
          <a href={withParameters(address, { target: null, cursor: null })}>Show everything</a>
        </p>
      )}
    </>
  );
}
