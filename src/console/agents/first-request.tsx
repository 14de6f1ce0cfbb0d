import type { preloadAgent } from '../../agents/agent';
import type { Id } from '../../lib/typeid';
import { listPermissions } from '../../permissions/list';
import type { Permission } from '../../permissions/permission';
import { sendPart } from '../frame/page';
import { usePage } from '../frame/page-context';
import { CodeTabs, Section } from '../parts/blocks';
import { LivePart } from '../parts/live';
import type { PreloadedContext } from '../session/access';
import { requireAgentInPath } from './agent';

/** How often the page of a new key looks for the first request, in seconds. */
const INTERVAL = 5;

/**
 * A request that needs no preparation. Its JSON has no single quote, which would end the text in
 * the shell, and is a literal of JavaScript and Python too.
 */
const REQUEST = { action: 'demo.greet', resource: 'demo:first', reason: 'My first request' };

interface FirstRequestProps {
  agent: Id<'agent'>;
  apiKey: string;
  origin: string;
}

/** Code that sends a first request with the key of a new agent, and whether it has arrived. */
export function FirstRequest({ agent, apiKey, origin }: FirstRequestProps) {
  const mayWait = usePage().may('permissions:read');
  return (
    <Section name="first" title="Its first request">
      <p>Run this code. The request then waits in the inbox, unless a policy decides it at once.</p>
      <CodeTabs label="Language" codes={codesOf(apiKey, origin)} />
      <p class="hint">
        <code>guard()</code> wraps one of your functions, so that it runs only after an approval:{' '}
        <a href="/docs/guides/guard">how to install and use it</a>.
      </p>
      {mayWait && (
        <div role="status">
          <Arrival agent={agent} request={undefined} />
        </div>
      )}
    </Section>
  );
}

/** Says whether the first request of an agent has arrived, and looks again until then. */
function Arrival({ agent, request }: { agent: Id<'agent'>; request: Permission | undefined }) {
  return (
    <LivePart
      id="arrival"
      source={`/console/agents/${agent}/first-request`}
      seconds={INTERVAL}
      reloads={request === undefined}
    >
      {!request && (
        <p class="notice waiting">
          Waiting for the first request…{' '}
          <a href={`/console/agents/${agent}`}>The page of the agent lists its requests.</a>
        </p>
      )}
      {request && (
        <p class="notice good">
          <strong>The first request has arrived.</strong> {STATES[request.status]}{' '}
          <a href={`/console/permissions/${request.id}`}>Open the request</a>
        </p>
      )}
    </LivePart>
  );
}

const STATES: Record<Permission['status'], string> = {
  pending: 'It waits for a decision.',
  approved: 'It is approved.',
  denied: 'It is denied.',
  expired: 'It has expired.',
};

/** Answers with whether an agent has asked for anything. */
export async function sendArrival(c: PreloadedContext<typeof preloadAgent>): Promise<Response> {
  const { id } = requireAgentInPath(c);
  const { data } = await listPermissions(c.var.signedIn.context, { agent_id: id, limit: 1 });
  return sendPart(c, <Arrival agent={id} request={data[0]} />);
}

/** The same first request by different means, each with its name. */
function codesOf(apiKey: string, origin: string): [id: string, name: string, code: string][] {
  const address = `${origin}/v1/permissions`;
  const body = JSON.stringify(REQUEST);
  const curl = `curl ${address} -H 'Content-Type: application/json' \\
  -H 'Authorization: Bearer ${apiKey}' \\
  -d '${body}'`;
  const javascript = `const response = await fetch('${address}', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ${apiKey}',
    'Content-Type': 'application/json',
  },
  body: JSON.stringify(${body}),
});
console.log(await response.json());`;
  const python = `import urllib.request

request = urllib.request.Request(
    '${address}',
    data=b'${body}',
    headers={
        'Authorization': 'Bearer ${apiKey}',
        'Content-Type': 'application/json',
    },
)
print(urllib.request.urlopen(request).read().decode())`;
  const guard = `import { Countersign } from 'countersign';

const countersign = new Countersign({
  baseUrl: '${origin}',
  apiKey: '${apiKey}',
});
const greet = countersign.guard(
  async ({ name }) => console.log(\`Hello \${name}\`),
  ${body.replaceAll(/"(\w+)":/g, ' $1: ').replace('}', ' }')},
);
await greet({ name: 'Ada' });`;
  return [
    ['curl', 'curl', curl],
    ['javascript', 'JavaScript', javascript],
    ['python', 'Python', python],
    ['guard', 'guard()', guard],
  ];
}
