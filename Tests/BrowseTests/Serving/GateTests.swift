import Foundation
import StrataBrowse
import StrataCommand
import Testing

/// Who gets an answer, and who gets none.
@Suite struct GateTests {
  @Test func theSecretIsLongAndAnotherOneEachTime() throws {
    let library = try Library()
    let (first, second) = (try Page(library), try Page(library))
    #expect(first.client.secret.count == 48 && first.client.secret != second.client.secret)
    #expect(try first.client.ask(target: "/\(second.client.secret)/").status == 404)
  }

  @Test func nothingIsAnsweredWithoutTheSecret() throws {
    let page = try Page(try Library())
    let secret = page.client.secret
    let wrong = String(secret.dropLast()) + (secret.last == "0" ? "1" : "0")
    let targets = [
      "/", "//", "/favicon.ico", "/api/begin", "/api/rows?entity=Book", "/page.js", "/\(wrong)/",
      "/\(wrong)/api/begin",
      "/\(secret.dropLast())/", "/\(secret)0/", "/\(secret.uppercased())x/", "/ /\(secret)/", "/x/\(secret)/",
      "/\(secret)",
      "/?\(secret)/", "*", "http://127.0.0.1:\(page.client.port)/\(secret)/", "/%2F\(secret)/", "\(secret)/",
    ]
    for target in targets {
      for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"] {
        let bytes = try page.client.raw(
          Array("\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(page.client.port)\r\n\r\n".utf8))
        let answer = try #require(
          Answer(bytes), "\(method) \(target): \(String(decoding: bytes, as: UTF8.self))")
        #expect(answer.status == 404 && answer.body.isEmpty, "\(method) \(target): \(answer)")
      }
    }
    #expect(try page.client.ask(target: "/\(secret)/").status == 200)
  }

  @Test func anotherHostOrOriginIsTurnedAway() throws {
    let page = try Page(try Library())
    let (port, target) = (page.client.port, "/\(page.client.secret)/api/begin")
    func status(_ headers: [(String, String?)]) throws -> Int {
      try page.client.ask(target: target, headers: headers).status
    }
    for host in ["127.0.0.1:\(port)", "localhost:\(port)", "LOCALHOST:\(port)"] {
      #expect(try status([("Host", host)]) == 200, "\(host)")
    }
    for host in [
      nil, "", "evil.example", "evil.example:\(port)", "127.0.0.1", "127.0.0.1:1",
      "localhost.evil.example:\(port)",
      "127.0.0.1:\(port)@evil.example", "127.0.0.1:\(port), evil.example",
    ] {
      let code = try status([("Host", host)])
      #expect(code == 403 || host == nil && code == 404, "\(host ?? "none"): \(code)")
    }
    for origin in ["http://127.0.0.1:\(port)", "http://localhost:\(port)"] {
      #expect(try status([("Origin", origin)]) == 200, "\(origin)")
    }
    for origin in [
      "null", "http://evil.example", "https://127.0.0.1:\(port)", "http://127.0.0.1",
      "http://127.0.0.1:\(port).evil.example", "",
    ] {
      #expect(try status([("Origin", origin)]) == 403, "\(origin)")
    }
    for (site, code) in [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)] {
      #expect(try status([("Sec-Fetch-Site", site)]) == code, "\(site)")
    }
    let double = try page.client.raw(
      Array("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nHost: evil.example\r\n\r\n".utf8))
    #expect([403, 404].contains(Answer(double)?.status), "\(String(decoding: double, as: UTF8.self))")
  }

  @Test func eachAnswerHasItsMethod() throws {
    let page = try Page(try Library(), "--write")
    let client = page.client
    for name in StoreBrowser.names {
      let isChanging = StoreBrowser.changing.contains(name)
      for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]
      where method != (isChanging ? "POST" : "GET") {
        let answer = try client.ask(method, target: "/\(client.secret)/api/\(name)")
        #expect(
          answer.status == 405 && answer.headers["allow"] == (isChanging ? "POST" : "GET"),
          "\(method) \(name): \(answer)")
      }
    }
    #expect(try client.ask("POST", target: "/\(client.secret)/").status == 405)
    let save = "/\(client.secret)/api/save"
    let (origin, type) = (
      ("Origin", Optional("http://127.0.0.1:\(client.port)")), ("Content-Type", Optional("application/json"))
    )
    #expect(try client.ask("POST", target: save, headers: [type], body: []).status == 403, "no origin")
    #expect(try client.ask("POST", target: save, headers: [origin], body: []).status == 415, "no type")
    #expect(
      try client.ask("POST", target: save, headers: [origin, ("Content-Type", "text/plain")], body: []).status
        == 415)
    #expect(
      try client.ask("POST", target: save, headers: [("Origin", "http://evil.example"), type], body: [])
        .status == 403)
  }

  @Test func noPathLeadsOut() throws {
    let page = try Page(try Library())
    let base = "/\(page.client.secret)"
    for target in [
      "/../../etc/passwd", "/..%2F..%2Fetc%2Fpasswd", "/%2e%2e/", "/page.js/", "/page.js/../page.css", "/./",
      "//", "/api", "/api/",
      "/api/begin/", "/api/../api/begin", "/api/%62egin", "/page%2Ejs", "/PAGE.JS", "/Page/page.js",
      "/page.js%00", "/api/begin%00", "/page.js", "/page.css", "/early.js",
      "/api/nothing", "/etc/passwd", "/\\..\\x", "/page.html",
    ] {
      let answer = try page.client.ask(target: base + target)
      #expect(answer.status == 404 && answer.body.isEmpty, "\(target): \(answer)")
    }
    for (name, type) in [("", "text/html"), ("icon.svg", "image/svg+xml")] {
      let answer = try page.client.ask(target: "\(base)/\(name)")
      #expect(answer.status == 200 && answer.headers["content-type"]?.hasPrefix(type) == true, "\(answer)")
    }
  }

  @Test func answersSayWhatBrowsersMayDoWithThem() throws {
    let page = try Page(try Library())
    let answer = try page.client.ask(target: "/\(page.client.secret)/")
    #expect(
      answer.headers["cache-control"] == "no-store" && answer.headers["x-content-type-options"] == "nosniff")
    #expect(answer.headers["referrer-policy"] == "no-referrer" && answer.headers["x-frame-options"] == "DENY")
    #expect(answer.headers["cross-origin-resource-policy"] == "same-origin")
    let policy = try #require(answer.headers["content-security-policy"])
    #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
    // What bears the word is executed, and nothing else: another one each time.
    let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([0-9a-z]{16,})'/)?.1)
    #expect(policy.contains("style-src 'nonce-\(nonce)'") && !policy.contains("'self' 'nonce"))
    let tags = answer.text.matches(of: /<(?:script|style)\b[^>]*>/).map { String($0.0) }
    #expect(tags.count == 6 && tags.allSatisfy { $0.hasSuffix("nonce=\"\(nonce)\">") }, "\(tags)")
    let again = try page.client.ask(target: "/\(page.client.secret)/")
    #expect(again.headers["content-security-policy"]?.contains(nonce) == false && !again.text.contains(nonce))
    #expect(!policy.contains("unsafe") && !policy.contains("http"))
    // But for the name of a language.
    let text = answer.text.replacing("http://www.w3.org/2000/svg", with: "")
    #expect(!text.contains("http://") && !text.contains("https://"), "something comes from elsewhere")
    #expect(answer.headers["access-control-allow-origin"] == nil)
    let value = try page.client.get("value", ["id": "Author/p2", "name": "portrait"])
    #expect(
      value.headers["content-security-policy"]?.hasPrefix("default-src 'none'; sandbox") == true, "\(value)")
  }

  @Test func whatIsTooLargeIsTurnedAwayEarly() throws {
    let page = try Page(try Library(), "--write")
    let client = page.client
    let target = "/\(client.secret)/api/edit"
    let headers = [
      ("Origin", Optional("http://127.0.0.1:\(client.port)")), ("Content-Type", "application/json"),
      ("Content-Length", "99999999999"),
    ]
    #expect(try client.ask("POST", target: target, headers: headers).status == 413)
    // In pieces, without saying how much it will be.
    #expect(try client.postInPieces(target, type: "application/json", megabytes: 12)?.status == 413)
    #expect(
      try client.ask(target: "/\(client.secret)/api/begin", body: [1, 2, 3]).status == 413,
      "a body where there is none")
    #expect(
      try client.ask(target: "/\(client.secret)/api/begin?x=" + String(repeating: "y", count: 20_000)).status
        == 404)
    #expect(
      try client.ask(
        target: "/\(client.secret)/api/begin", headers: [("X", String(repeating: "y", count: 40_000))]
      ).status == 404)
    let many = (0..<200).map { ("X-\($0)", Optional("y")) }
    #expect(try client.ask(target: "/\(client.secret)/api/begin", headers: many).status == 404)
    #expect(try client.get("begin").status == 200)
  }

  @Test func whoSaysNothingIsNotWaitedForAsLongAsOthers() throws {
    let page = try Page(try Library())
    let (silent, known) = (try page.client.connect(), try page.client.connect())
    defer { close(known) }
    let request =
      "GET /\(page.client.secret)/api/begin HTTP/1.1\r\nHost: 127.0.0.1:\(page.client.port)\r\n\r\n"
    try Client.write(Array(request.utf8), to: known)
    // It is closed by the server, and long before the other one would be.
    #expect(Client.readAll(silent).isEmpty)
    close(silent)
    try Client.write(Array(request.utf8), to: known)
    shutdown(known, Int32(SHUT_WR))
    #expect(Client.readAll(known).ranges(of: Data("HTTP/1.1 200 OK".utf8)).count == 2)
  }

  @Test func connectionsAreCountedAndKept() throws {
    let page = try Page(try Library())
    let target = "/\(page.client.secret)/api/begin"
    let request = "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(page.client.port)\r\n\r\n"
    // Several requests at once come back in their order, on one connection.
    let bytes = try page.client.raw(Array(String(repeating: request, count: 5).utf8))
    #expect(bytes.ranges(of: Data("HTTP/1.1 200 OK".utf8)).count == 5)
    // Idle connections hold nobody up but those beyond the limit, which are closed.
    var sockets: [Int32] = []
    for _ in 0..<80 { sockets.append(try page.client.connect()) }
    let last = "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(page.client.port)\r\nConnection: close\r\n\r\n"
    for socket in sockets.suffix(8) {
      // One that was not closed would be answered.
      try Client.write(Array(last.utf8), to: socket)
      #expect(Client.readAll(socket).isEmpty)
    }
    for socket in sockets { close(socket) }
    // Places are free again as soon as the server has seen that they are.
    let end = ContinuousClock.now + .seconds(120)
    while try !page.client.raw(Array(last.utf8)).starts(with: Data("HTTP/1.1 200 OK".utf8)) {
      try #require(ContinuousClock.now < end, "closed connections still count")
    }
  }
}
