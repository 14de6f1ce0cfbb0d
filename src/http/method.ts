import type { Hono, MiddlewareHandler } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { Problem } from '../errors';
import type { AppEnv } from './context';
import { problemResponse } from './problem';

/** Answers `method_not_allowed` for a path of the app that does not accept the request's method. */
export function refuseOtherMethods(app: Hono<AppEnv>): MiddlewareHandler<AppEnv> {
  return methodNotAllowed({
    app,
    onMethodNotAllowed: (c, methods) => {
      const headers = { Allow: methods.join(', ') };
      return problemResponse(
        new Problem('method_not_allowed', `This path accepts ${headers.Allow}.`, { headers }),
        c,
      );
    },
  });
}
