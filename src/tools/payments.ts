import { PAYMENTS_KEY, PAYMENTS_PORT, startPayments } from './demo/payments.ts';
import { runProgram, UserError } from './user-error.ts';

/**
 * Runs the stand-in of the guide "Let Countersign hold the key" until Ctrl-C. The variable
 * PAYMENTS_PORT names another port.
 */
async function serve(): Promise<void> {
  const port = Number(process.env.PAYMENTS_PORT ?? PAYMENTS_PORT);
  const { origin } = await startPayments(port, (line) => console.log(line)).catch((error) => {
    throw new UserError(
      `Port ${port} cannot be used (${error.code}). Choose another one, also in the guide's base_url: PAYMENTS_PORT=${port + 1} npm run payments`,
    );
  });
  console.log(`A stand-in for a payment service runs on ${origin}`);
  console.log(`Its key is ${PAYMENTS_KEY}`);
  console.log('It answers GET /v1/balance and POST /v1/payouts. Stop with Ctrl-C.\n');
}

await runProgram(serve);
