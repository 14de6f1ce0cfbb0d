interface Env {
  PLAIN_QUEUE: Queue<string>;
  RECEIVER: string;
}

const CONNECTIONS = 6;

/**
 * A queue consumer that only sends requests, as a baseline for deliveries. `POST /` enqueues
 * messages.
 */
export default {
  async fetch(request, env) {
    if (request.method === 'GET') return new Response('ok');
    const { count, body } = (await request.json()) as { count: number; body: string };
    for (let sent = 0; sent < count; sent += 100) {
      await env.PLAIN_QUEUE.sendBatch(
        Array.from({ length: Math.min(100, count - sent) }, () => ({ body })),
      );
    }
    return new Response('sent');
  },
  async queue(batch, env) {
    const waiting = batch.messages.values();
    const work = async () => {
      for (const message of waiting) {
        const headers = { 'Content-Type': 'application/json' };
        const response = await fetch(env.RECEIVER, { method: 'POST', headers, body: message.body });
        await response.arrayBuffer();
        message.ack();
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
  },
} satisfies ExportedHandler<Env, string>;
