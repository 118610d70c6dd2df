import Foundation
import Testing
import TortureKit

/// Whatever is sent, there is an answer, and none with something in it for who does not know the secret.
@Suite struct FuzzTests {
  /// STRATA_BROWSE_FUZZ=200000 sends as many requests.
  static let count = ProcessInfo.processInfo.environment["STRATA_BROWSE_FUZZ"].flatMap(Int.init) ?? 3_000

  @Test func everyInputEndsInAnAnswer() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let client = page.client
    var generator = SeededGenerator(seed: 28)
    let secret = Array(client.secret.utf8)
    let before = try library.values("Book", "title")
    var counts: [Int: Int] = [:]
    for number in 0..<Self.count {
      let bytes = Self.request(client, &generator)
      let answer = try client.raw(bytes)
      guard let whole = Answer(answer) else {
        Issue.record(
          "request \(number) ends without an answer: \(String(decoding: bytes, as: UTF8.self).debugDescription) \(String(decoding: answer, as: UTF8.self))"
        )
        return
      }
      counts[whole.status, default: 0] += 1
      let knows = Data(bytes).range(of: Data(secret)) != nil
      if !knows && whole.status != 404 && whole.status != 403 {
        Issue.record(
          "request \(number) does not know the secret and gets \(whole): \(String(decoding: bytes, as: UTF8.self))"
        )
      }
      if whole.status >= 500 {
        Issue.record("request \(number) gets \(whole): \(String(decoding: bytes, as: UTF8.self))")
      }
    }
    // Of each kind some: otherwise something else is tested.
    for status in [200, 400, 403, 404, 405] { #expect(counts[status, default: 0] > 0, "\(counts)") }
    #expect(try client.get("begin").status == 200)
    #expect(try library.values("Book", "title") == before, "nobody has saved")
  }

  private static func request(_ client: Client, _ generator: inout SeededGenerator) -> [UInt8] {
    let names = [
      "begin", "rows", "plan", "object", "members", "value", "history", "diagram", "space", "pending", "edit",
      "undo", "redo", "discard", "upload",
      "nothing",
    ]
    // “save” is left out, as what is in the store at the end is looked at; “changes” would wait.
    let words = [
      "entity=Book", "entity=Author", "entity=", "where=year%20%3E%201900", "where=%28%28%28",
      "where=title%20MATCHES%20%27%28%27", "sort=year:desc",
      "sort=:", "offset=0", "offset=18446744073709551615", "offset=-1", "limit=3",
      "limit=9223372036854775807", "id=Book%2Fp1", "id=Author%2Fp2",
      "id=Book%2Fp18446744073709551615", "id=%FF%FE", "relationship=books", "relationship=Shelf.first",
      "name=portrait", "before=1", "at=1",
      "exact=1", "a=b&a=c", "%", "=",
    ]
    let name = names.randomElement(using: &generator) ?? "begin"
    let query = (0..<Int.random(in: 0...5, using: &generator)).compactMap { _ in
      words.randomElement(using: &generator)
    }
    let posts = ["edit", "undo", "redo", "discard", "upload"].contains(name)
    let bodies = [
      #"{"kind":"insert","entity":"Book"}"#, #"{"kind":"update","id":"Book/p1","name":"title","value":"x"}"#,
      #"{"kind":"update","id":"Book/p1","name":"year","value":"99999999"}"#,
      #"{"kind":"link","id":"Book/p1","name":"author","value":"Book/p1"}"#,
      #"{"kind":"delete","id":"Author/p1"}"#, #"{"kind":["#, "{}", "[]", "", "null", #"{"kind":1}"#,
      String(repeating: "[", count: 500),
    ]
    // Each with the other's type as well.
    let isBytes = (name == "upload") == (Int.random(in: 0..<10, using: &generator) > 0)
    let body = posts ? bodies.randomElement(using: &generator) ?? "" : ""
    var lines = [
      "\(posts == (Int.random(in: 0..<10, using: &generator) > 0) ? "POST" : "GET") /\(client.secret)/api/\(name)?\(query.joined(separator: "&")) HTTP/1.1",
      "Host: 127.0.0.1:\(client.port)", "Connection: close",
    ]
    if posts {
      lines += [
        "Origin: http://127.0.0.1:\(client.port)",
        "Content-Type: application/\(isBytes ? "octet-stream" : "json")",
        "Content-Length: \(body.utf8.count)",
      ]
    }
    var bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    // A third stays as it is; the others lose, win or change some bytes, most of them in front, where the secret is.
    // There are elements to choose from.
    for _ in 0..<[0, 1, 1, 2, 5, 40].randomElement(using: &generator)! {
      guard !bytes.isEmpty else { break }
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
      case 1: bytes.remove(at: place)
      case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
      case 3: bytes.removeSubrange(place...)
      case 4: bytes.insert(contentsOf: bytes[place...].prefix(30), at: place)
      default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      }
    }
    return bytes
  }
}
