-- Load for wrk: one request a line of $REQUESTS, "path<TAB>JSON body", in turn; headers in
-- $HEADERS, one "Name: value" a line. Prints one line of JSON at the end.
local requests, count, at = {}, 0, 0

function init()
  local headers = { ["Content-Type"] = "application/json" }
  for name, value in string.gmatch(os.getenv("HEADERS") or "", "([^:\n]+): ([^\n]+)") do
    headers[name] = value
  end
  for line in io.lines(os.getenv("REQUESTS")) do
    local path, body = string.match(line, "^([^\t]*)\t(.*)$")
    count = count + 1
    requests[count] = wrk.format("POST", path, headers, body)
  end
end

function request()
  at = at % count + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"us":%d,"errors":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
