import { Section, ToCopy } from '../parts/blocks';

/** A request that needs no preparation. Its JSON has no single quote, which would end the text in the shell. */
const REQUEST = { action: 'demo.greet', resource: 'demo:first', reason: 'My first request' };

/** Three lines of code that send a first request with the key of a new agent. */
export function FirstRequest({ apiKey, origin }: { apiKey: string; origin: string }) {
  const address = `${origin}/v1/permissions`;
  const body = JSON.stringify(REQUEST);
  const curl = `curl ${address} -H 'Content-Type: application/json' \\
  -H 'Authorization: Bearer ${apiKey}' \\
  -d '${body}'`;
  const script = `const response = await fetch('${address}', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ${apiKey}',
    'Content-Type': 'application/json',
  },
  body: JSON.stringify(${body}),
});
console.log(await response.json());`;
  return (
    <Section name="first" title="Its first request">
      <p>Run these lines in a terminal. The request then waits in the inbox, unless a policy decides it at once.</p>
      <ToCopy id="curl" text={curl} label="First request with curl" />
      <details>
        <summary>The same in JavaScript</summary>
        <ToCopy id="javascript" text={script} label="First request in JavaScript" />
      </details>
    </Section>
  );
}
