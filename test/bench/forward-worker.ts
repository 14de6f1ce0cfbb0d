import { Hono } from 'hono';

/** A Worker that only forwards: the path begins with the port of a server on loopback. */
const app = new Hono();

app.all('/:port/*', (c) => {
  const { port } = c.req.param();
  const target = c.req.url.slice(c.req.url.indexOf(`/${port}/`) + port.length + 1);
  return fetch(`http://127.0.0.1:${port}${target}`, c.req.raw);
});

export default app;
