/** HTTP client. All errors are `Problem`s. */

export interface FieldProblem {
  pointer?: string;
  path?: string;
  detail?: string;
  message?: string;
}

/** A problem (`application/problem+json`). Status 0 means that the server is unreachable. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string | undefined = undefined,
    readonly errors: FieldProblem[] = [],
    readonly retryAfter: number | undefined = undefined,
  ) {
    super(message);
  }

  /** Returns the error of a field, which is named by its JSON pointer. */
  fieldError(pointer: string): string | undefined {
    const match = this.errors.find((error) => (error.pointer ?? error.path ?? "").replace(/^#/, "") === pointer);
    return match && (match.detail ?? match.message ?? this.message);
  }
}

export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, options);
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Problem(0, "");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function requestJson<T>(path: string, options: RequestInit = {}): Promise<T> {
  const response = await request(path, { ...options, headers: { Accept: "application/json", ...options.headers } });
  return (await response.json()) as T;
}

export function postJson(path: string, body: unknown, accept = "application/json"): Promise<Response> {
  return request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: accept },
    body: JSON.stringify(body),
  });
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => "");
  const retryAfter = Number(response.headers.get("Retry-After")) || undefined;
  try {
    const body = JSON.parse(text);
    return new Problem(response.status, body.detail ?? body.title ?? "", body.hint ?? undefined, body.errors ?? [], retryAfter);
  } catch {
    return new Problem(response.status, text.slice(0, 200) || response.statusText, undefined, [], retryAfter);
  }
}
