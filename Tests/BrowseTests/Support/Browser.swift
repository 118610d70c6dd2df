import Foundation
import Testing

/// A real browser without a window: Chromium, which is told what to do by its DevTools protocol, over two pipes.
final class Browser {
  /// Where Chromium is; nil where it is not installed.
  static let program: String? = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    .first {
      access($0, X_OK) == 0
    }
  static let reason: Comment = "Chromium is not installed: “Scripts/setup browser” installs it."

  private let identifier: pid_t
  private let input: Int32
  private let output: Int32
  private let folder: URL
  private var rest = Data()
  private var number = 0
  /// The tab that is told what to do.
  private var session: String?
  /// The targets of tabs by their sessions.
  private var targets: [String: String] = [:]
  /// What went wrong in the page: errors of scripts and of the policy.
  private(set) var complaints: [String] = []

  init(width: Int = 1_200, height: Int = 760, isDark: Bool = false) throws {
    let program = try #require(Self.program)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID().uuidString)")
    var (commands, answers): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    guard pipe(&commands) == 0, pipe(&answers) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    for end in commands + answers { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // Chromium reads from 3 and writes to 4. Ends that lie there would be taken for those of the child.
    let ends = [commands[0], answers[1]].map { fcntl($0, F_DUPFD_CLOEXEC, 20) }
    close(commands[0])
    close(answers[1])
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[0], 3)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 4)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    let arguments: [String] = [
      program, "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
      "--remote-debugging-pipe",
      "--user-data-dir=\(folder.path)", "--window-size=\(width),\(height)", "--lang=en-US",
      // Its sandbox does not work as root, as whom tests run in containers; the only pages are ours.
      "--no-sandbox",
    ]
    let words = arguments.map { strdup($0) }
    let variables = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in words + variables { free(text) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, program, &actions, nil, words + [nil], variables + [nil])
    for end in ends { close(end) }
    (identifier, input, output) = (child, commands[1], answers[0])
    guard code == 0 else { throw POSIXError(.init(rawValue: code) ?? .EIO) }
    try openTab()
    if isDark {
      _ = try send(
        "Emulation.setEmulatedMedia", ["features": [["name": "prefers-color-scheme", "value": "dark"]]])
    }
  }

  deinit {
    kill(identifier, SIGKILL)
    var status: Int32 = 0
    while waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
    close(input)
    close(output)
    try? FileManager.default.removeItem(at: folder)
  }

  /// Opens another tab, which is told what to do from now on: its name.
  @discardableResult
  func openTab(_ address: String = "about:blank") throws -> String {
    session = nil
    let target = try send("Target.createTarget", ["url": address])["targetId"] as? String ?? ""
    let tab = try send("Target.attachToTarget", ["targetId": target, "flatten": true])["sessionId"]
    let name = tab as? String ?? ""
    targets[name] = target
    session = name
    for domain in ["Page", "Runtime", "Log"] { _ = try send("\(domain).enable") }
    // What is evaluated before it has begun to load would be lost. So long that a busy machine does not matter.
    let end = ContinuousClock.now + .seconds(120)
    while (try? evaluate("location.href !== 'about:blank'") as? Bool) != (address != "about:blank") {
      if ContinuousClock.now > end { throw BrowserError(text: "\(address) does not load.") }
      usleep(20_000)
    }
    return name
  }

  /// The first tab, or the one that was opened last.
  var tab: String { session ?? "" }

  /// Brings a tab to the front, and tells it what to do from now on.
  func show(_ tab: String) throws {
    session = tab
    try send("Page.bringToFront")
  }

  /// What a page answers, wherever it stands.
  func text(_ expression: String, in tab: String) throws -> String {
    let shown = session
    defer { session = shown }
    session = tab
    return try text(expression)
  }

  func closeTab(_ tab: String) throws {
    session = nil
    try send("Target.closeTarget", ["targetId": targets[tab] ?? ""])
  }

  /// Sends a command, and waits for what comes of it.
  @discardableResult
  func send(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    number += 1
    var message: [String: Any] = ["id": number, "method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    let bytes = Array(try JSONSerialization.data(withJSONObject: message)) + [0]
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
      sent += max(0, count)
    }
    while true {
      let answer = try next()
      if answer["id"] as? Int == number {
        if let error = answer["error"] { throw BrowserError(text: "\(method): \(error)") }
        return answer["result"] as? [String: Any] ?? [:]
      }
      note(answer)
    }
  }

  private func note(_ event: [String: Any]) {
    let parameters = event["params"] as? [String: Any]
    switch event["method"] as? String {
    case "Runtime.exceptionThrown": complaints.append("\(parameters ?? [:])")
    case "Log.entryAdded":
      // What the server turns away is a matter of the test.
      let entry = parameters?["entry"] as? [String: Any]
      if entry?["source"] as? String != "network" { complaints.append("\(entry ?? [:])") }
    default: break
    }
  }

  private func next() throws -> [String: Any] {
    while true {
      if let end = rest.firstIndex(of: 0) {
        let text = Data(rest[..<end])
        rest = Data(rest[(end + 1)...])
        return try JSONSerialization.jsonObject(with: text) as? [String: Any] ?? [:]
      }
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      let count = read(output, &buffer, buffer.count)
      if count > 0 {
        rest.append(contentsOf: buffer.prefix(count))
      } else if count == 0 || errno != EINTR {
        throw BrowserError(text: "The browser has ended.")
      }
    }
  }

  func open(_ address: String) throws {
    // Another fragment of the same page would not load it.
    try send("Page.navigate", ["url": "about:blank"])
    try send("Page.navigate", ["url": address])
  }

  /// The value of an expression in the page; it may be a promise.
  @discardableResult
  func evaluate(_ expression: String) throws -> Any? {
    let answer = try send(
      "Runtime.evaluate", ["expression": expression, "awaitPromise": true, "returnByValue": true])
    if let details = answer["exceptionDetails"] { throw BrowserError(text: "\(expression): \(details)") }
    return (answer["result"] as? [String: Any])?["value"]
  }

  func text(_ expression: String) throws -> String { try evaluate("String(\(expression))") as? String ?? "" }

  /// Waits until an expression is true in the page.
  func wait(for expression: String, _ place: SourceLocation = #_sourceLocation) throws {
    // So long that a busy machine does not matter: the page looks, and says when.
    let found =
      try evaluate(
        """
        new Promise((done) => { const end = Date.now() + 120000; const look = () => { let is = false; try { is = Boolean(\(expression)); } catch {} \
        if (is || Date.now() > end) done(is); else setTimeout(look, 20); }; look(); })
        """) as? Bool
    if found != true {
      let main = try text("document.body.innerText")
      Issue.record(
        "It has not become true: \(expression)\n\(main.prefix(3_000))\n\(complaints)", sourceLocation: place)
      throw BrowserError(text: "gave up")
    }
  }

  /// Types as a keyboard does.
  func type(_ text: String) throws { try send("Input.insertText", ["text": text]) }

  func press(_ key: String, code: Int = 0, modifiers: Int = 0) throws {
    let text = key.count == 1 && modifiers == 0 ? key : key == "Enter" ? "\r" : ""
    var event: [String: Any] = [
      "type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers,
    ]
    if !text.isEmpty { event["text"] = text }
    try send("Input.dispatchKeyEvent", event)
    event["type"] = "keyUp"
    event["text"] = nil
    try send("Input.dispatchKeyEvent", event)
  }

  /// Writes a picture of the page where STRATA_BROWSE_PICTURES says, for people.
  func picture(_ name: String) throws {
    guard let folder = ProcessInfo.processInfo.environment["STRATA_BROWSE_PICTURES"] else { return }
    let data = try send("Page.captureScreenshot")["data"] as? String ?? ""
    try (Data(base64Encoded: data) ?? Data()).write(
      to: URL(fileURLWithPath: folder).appendingPathComponent("\(name).png"))
  }
}

struct BrowserError: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}
