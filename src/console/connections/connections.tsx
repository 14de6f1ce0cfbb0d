import { type Connection, MAX_CONNECTIONS } from '../../connections/connection';
import { listConnections } from '../../connections/list';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { Empty, LinkButton } from '../parts/blocks';
import { Badge, Count, joinElements, Named, Written, WrittenLink } from '../parts/inline';
import { onOrOff } from '../parts/words';
import type { ConsoleContext } from '../session/access';

/** How many agents a line of the list names. */
const MAX_AGENTS = 3;

/** Shows the account's connections: where each one leads, and who may call it. */
export async function showConnections(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const [{ data }, names] = await Promise.all([
    listConnections(context, { limit: MAX_CONNECTIONS }),
    loadNames(context, ['agents']),
  ]);
  const create = context.principal.scopes.includes('connections:write') && (
    <LinkButton href="/console/connections/new" label="Create a connection" />
  );
  const ifEmpty = (
    <Empty title="There are no connections yet.">
      <p>
        With a connection, agents do not hold the key of a service. Countersign keeps the key, and
        sends the calls that were approved.
      </p>
      {create || <p>An admin or owner can create one.</p>}
    </Empty>
  );
  if (data.length === 0) return sendPage(c, { title: 'Connections', children: ifEmpty });
  const children = (
    <>
      <div class="bar">
        <p class="soft">
          Services whose keys Countersign keeps. It sends the calls that agents may make.
        </p>
        {create}
      </div>
      <ul class="files">
        {data.map((connection) => (
          <ConnectionRow connection={connection} />
        ))}
      </ul>
    </>
  );
  return sendPage(c, { title: 'Connections', names, children });
}

function ConnectionRow({ connection }: { connection: Connection }) {
  const { id, name, base_url, agent_ids, rules, is_active } = connection;
  const named = agent_ids.slice(0, MAX_AGENTS).map((agent) => <Named id={agent} isShort />);
  const more = agent_ids.length - named.length;
  return (
    <li>
      <div class="what">
        <h2 class="first-lines">
          <WrittenLink href={`/console/connections/${id}`} text={name} />
        </h2>
        <p class="soft">
          <Written text={base_url} />
        </p>
      </div>
      <div class="side">
        <p>
          <Badge state={onOrOff(is_active)} />
        </p>
        <p class="soft">
          {joinElements(named)}
          {more > 0 && ` and ${more} more`} · <Count of={rules.length} one="rule" />
        </p>
      </div>
    </li>
  );
}
