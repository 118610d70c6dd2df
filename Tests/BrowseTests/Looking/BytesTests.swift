import Foundation
import Strata
import StrataBrowse
import StrataCommand
import Testing
import TortureKit

/// Values that are bytes: files take their place, and what only another program understands stays as it is.
@Suite struct BytesTests {
  private static let limit = StoreBrowser.largestUpload

  private static func portrait(_ client: Client, _ id: String = "Author/p1") throws -> Data {
    try client.get("value", ["id": id, "name": "portrait"]).body
  }

  @Test func aFileBecomesAValue() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let client = page.client
    let bytes = Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 251) })
    let answer = try client.upload("Author/p1", "portrait", bytes)
    #expect(answer.status == 200, "\(answer)")
    let change = try #require((try answer.object()["changes"] as? [[String: Any]])?.first)
    let value = try #require((change["values"] as? [String: [String: Any]])?["portrait"])
    #expect(change["id"] as? String == "Author/p1" && value["size"] as? Int == 5_000)
    #expect(try Self.portrait(client) == Library.picture, "nothing is saved yet")
    // It is a step like every other one.
    #expect(try client.post("undo").object()["total"] as? Int == 0)
    #expect(try client.post("redo").object()["total"] as? Int == 1)
    let edited = ["id": "Author/p1", "name": "portrait", "pending": "1"]
    #expect(try client.get("value", edited).body == bytes)
    #expect(try client.post("save").status == 200)
    #expect(try Self.portrait(client) == bytes)
    // None, and no bytes, are different values.
    #expect(try client.upload("Author/p1", "portrait", Data()).status == 200)
    let none = ["kind": "update", "id": "Author/p2", "name": "portrait", "value": nil]
    #expect(try client.post("edit", none).status == 200)
    #expect(try client.post("save").status == 200)
    #expect(try library.values("Author", "name", where: "portrait == nil") == ["<b>Tom</b>"])
    #expect(try library.values("Author", "portrait", where: "name == 'Ursula'") == ["0 bytes"])
  }

  @Test func aFileHasALimit() throws {
    let page = try Page(try Library(), "--write")
    let client = page.client
    #expect(try client.object("begin")["largestUpload"] as? Int == Self.limit)
    let block = Data((0..<4_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 256) })
    var largest = Data()
    for _ in 0..<Self.limit / block.count { largest.append(block) }
    #expect(largest.count == Self.limit)
    #expect(try client.upload("Author/p1", "portrait", largest).status == 200)
    #expect(try client.post("save").status == 200)
    #expect(try Self.portrait(client) == largest)
    // Whoever says how much it will be is told at once.
    let target = "/\(client.secret)/api/upload?id=Author%2Fp1&name=portrait"
    let headers: [(String, String?)] = [
      ("Origin", "http://127.0.0.1:\(client.port)"), ("Content-Type", "application/octet-stream"),
    ]
    let length = ("Content-Length", Optional(String(Self.limit + 1)))
    let refused = try client.ask("POST", target: target, headers: headers + [length])
    #expect(refused.status == 413, "\(refused)")
    #expect((try refused.object()["error"] as? String)?.contains("up to \(Self.limit) bytes") == true)
    // And who does not, when it is too much.
    #expect(
      try client.postInPieces(
        target, type: "application/octet-stream", megabytes: Self.limit / 0x100000 + 2)?.status == 413)
    #expect(try client.object("pending")["total"] as? Int == 0)
    #expect(try Self.portrait(client) == largest)
  }

  @Test func aFileIsTakenFromThePageOnly() throws {
    let page = try Page(try Library(), "--write")
    let client = page.client
    let bytes = Data([1, 2, 3])
    #expect(try client.upload("Author/p1", "portrait", bytes, origin: "http://evil.example").status == 403)
    for type in [
      nil, "", "application/json", "multipart/form-data", "text/plain", "application/octet-stream; x=1",
    ] {
      #expect(
        try client.upload("Author/p1", "portrait", bytes, type: type).status == 415, "\(type ?? "none")")
    }
    let target = "/\(client.secret)/api/upload?id=Author%2Fp1&name=portrait"
    let type = ("Content-Type", Optional("application/octet-stream"))
    #expect(try client.ask("POST", target: target, headers: [type], body: [1]).status == 403, "no origin")
    let origin = ("Origin", Optional("http://127.0.0.1:\(client.port)"))
    #expect(
      try client.ask(
        "POST", target: target, headers: [type, origin, ("Sec-Fetch-Site", "cross-site")], body: [1]
      ).status == 403)
    let other = target.replacing(client.secret, with: String(client.secret.reversed()) + "0")
    #expect(try client.ask("POST", target: other, headers: [type, origin], body: [1]).status == 404)
    let wrong: [(id: String, name: String, status: Int)] = [
      ("Author/p1", "name", 400), ("Author/p1", "none", 400), ("Author/p1", "books", 400),
      ("Author/p99", "portrait", 404), ("None/p1", "portrait", 400), ("", "", 400),
    ]
    for (id, name, status) in wrong {
      let answer = try client.upload(id, name, bytes)
      let sentence = try answer.object()["error"] as? String
      #expect(answer.status == status && sentence?.isEmpty == false, "\(id) \(answer)")
    }
    #expect(try client.object("pending")["total"] as? Int == 0)
    let reader = try Page(try Library())
    #expect(try reader.client.upload("Author/p1", "portrait", bytes).status == 409)
    let edited = ["id": "Author/p1", "name": "portrait", "pending": "1"]
    #expect(try reader.client.get("value", edited).status == 409)
    for (id, name, status) in [("Author/p99", "portrait", 404), ("Author/p1", "none", 404), ("", "", 400)] {
      #expect(
        try client.get("value", ["id": id, "name": name, "pending": "1"]).status == status, "\(id) \(name)")
    }
  }

  /// What a program makes of its own values; no other program has it.
  private struct Shouting: AttributeTransformer {
    static let name = "BytesTestsShouting"
    func transform(_ value: Any) throws -> Data { Data("!\(value)".utf8) }
    func reverse(_ data: Data) throws -> Any { String(decoding: data.dropFirst(), as: UTF8.self) }
  }

  private static func shouts(_ folder: ScratchFolder) throws -> PersistentStoreCoordinator {
    AttributeTransformers.set(Shouting(), forName: Shouting.name)
    let entity = EntityDescription("Shout")
    let words = AttributeDescription("words", .transformable)
    words.valueTransformerName = Shouting.name
    let plain = AttributeDescription("plain", .transformable)
    entity.properties = [AttributeDescription("title", .string), words, plain]
    let coordinator = PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel(entities: [entity]))
    try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: folder("Shouts.strata"))))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let object = try EntityDescription.insertNewObject(forEntityName: "Shout", into: context)
      for (key, value) in [("title", "One"), ("words", "Hear"), ("plain", "Here")] {
        object.setValue(value, forKey: key)
      }
      try context.save()
    }
    return coordinator
  }

  @Test func whatOnlyAnotherProgramUnderstandsStaysAsItIs() throws {
    let folder = try ScratchFolder()
    let coordinator = try Self.shouts(folder)
    let process = try ChildProcess(
      ChildProcess.program("strata-browse"), [folder("Shouts.strata"), "--write"])
    let client = try Client(try #require(process.readLine()))
    let attributes = try #require(
      try client.object("object", ["id": "Shout/p1"])["attributes"] as? [[String: Any]])
    let why = Dictionary(
      uniqueKeysWithValues: attributes.map { ($0["name"] as? String ?? "", $0["why"] as? String) })
    #expect(why["words"]??.contains("the transformer “\(Shouting.name)”") == true, "\(why)")
    #expect(why["plain"]??.hasPrefix("It stays as it is") == true && why["title"] == .some(nil), "\(why)")
    #expect(
      attributes.first { $0["name"] as? String == "words" }?["text"] as? String == "!Hear", "as it is")
    for value in ["x", nil] as [String?] {
      let edit = ["kind": "update", "id": "Shout/p1", "name": "words", "value": value]
      let answer = try client.post("edit", edit)
      #expect(answer.status == 400 && answer.text.contains(Shouting.name), "\(answer)")
    }
    #expect(try client.upload("Shout/p1", "words", Data([1])).status == 400)
    // Everything else of the object is edited, and its bytes come along.
    let edit = ["kind": "update", "id": "Shout/p1", "name": "title", "value": "Two"]
    #expect(try client.post("edit", edit).status == 200)
    #expect(try client.post("edit", ["kind": "insert", "entity": "Shout"]).status == 200)
    let saved = try client.post("save")
    #expect(saved.status == 200, "\(saved)")
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      var request = FetchRequest<ManagedObject>(entityName: "Shout")
      request.predicate = try FetchPredicate(format: "title == 'Two'")
      let object = try #require(try context.fetch(request).first)
      #expect(object.value(forKey: "words") as? String == "Hear")
      #expect(object.value(forKey: "plain") as? String == "Here")
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.reason))
  func thePageReplacesBytesAndSaysWhatItKeeps() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let browser = try Browser()
    try browser.open(page.client.address + "#/object/Author/p2")
    let field = "document.querySelector('#attributes [data-name=portrait]')"
    try browser.wait(for: "\(field)?.innerText.includes('in two lines')")
    func choose(_ path: String) throws {
      let found = try browser.send(
        "Runtime.evaluate", ["expression": "\(field).querySelector('input[type=file]')"])
      let identifier = try #require((found["result"] as? [String: Any])?["objectId"] as? String)
      try browser.send("DOM.setFileInputFiles", ["files": [path], "objectId": identifier])
    }
    // Too large: it is said beside the value, and nothing is sent.
    let large = library.folder("large.bin")
    #expect(FileManager.default.createFile(atPath: large, contents: Data()))
    #expect(truncate(large, off_t(Self.limit + 1)) == 0)
    try choose(large)
    try browser.wait(
      for: "\(field).querySelector('.message')?.textContent.includes('up to 32,000,000 bytes')")
    try browser.picture("bytes-refused")
    #expect(try page.client.object("pending")["total"] as? Int == 0)
    let small = library.folder("small.bin")
    try Data([0, 1, 2, 254, 255]).write(to: URL(fileURLWithPath: small))
    try choose(small)
    try browser.wait(
      for:
        "\(field).classList.contains('edited') && \(field).innerText.includes('00 01 02 fe ff') && !\(field).querySelector('.message')"
    )
    try browser.picture("bytes")
    try browser.evaluate("document.getElementById('undo').click()")
    try browser.wait(for: "\(field).innerText.includes('in two lines')")
    try browser.evaluate("document.getElementById('redo').click()")
    try browser.wait(for: "\(field).innerText.includes('00 01 02 fe ff')")
    try browser.evaluate("document.getElementById('save').click()")
    try browser.wait(for: "document.getElementById('pending').innerText.includes('Nothing to save')")
    #expect(
      try page.client.get("value", ["id": "Author/p2", "name": "portrait"]).body == Data([0, 1, 2, 254, 255]))
    // A picture is shown as one before it is saved, and another one that takes its place.
    for (name, picture) in [("first", Library.picture), ("second", Library.widePicture)] {
      try picture.write(to: URL(fileURLWithPath: small))
      try choose(small)
      try browser.wait(
        for:
          "\(field).querySelector('img')?.naturalWidth === \(name == "first" ? 1 : 2) && \(field).classList.contains('edited')"
      )
      try browser.picture("bytes-\(name)")
    }
    #expect(
      try page.client.get("value", ["id": "Author/p2", "name": "portrait"]).body == Data([0, 1, 2, 254, 255]))
    // What is chosen and then saved at once is saved with it.
    try Data([7, 7]).write(to: URL(fileURLWithPath: small))
    try choose(small)
    try browser.evaluate("act('save')")
    try browser.wait(
      for:
        "document.getElementById('pending').innerText.includes('Nothing to save') && \(field).innerText.includes('07 07')"
    )
    #expect(try page.client.get("value", ["id": "Author/p2", "name": "portrait"]).body == Data([7, 7]))
    try browser.evaluate("document.querySelector('[aria-label=\"Set portrait to nil\"]').click()")
    try browser.wait(for: "\(field).querySelector('.nil') && !\(field).innerText.includes('Set to nil')")
    try browser.evaluate("document.getElementById('save').click()")
    try browser.wait(for: "document.getElementById('pending').innerText.includes('Nothing to save')")
    #expect(try library.values("Author", "name", where: "portrait == nil") == ["<b>Tom</b>"])
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")

    let folder = try ScratchFolder()
    _ = try Self.shouts(folder)
    let process = try ChildProcess(
      ChildProcess.program("strata-browse"), [folder("Shouts.strata"), "--write"])
    let client = try Client(try #require(process.readLine()))
    try browser.open(client.address + "#/object/Shout/p1")
    let words = "document.querySelector('#attributes [data-name=words]')"
    try browser.wait(for: "\(words)?.innerText.includes('\(Shouting.name)')")
    #expect(try browser.text("\(words).querySelector('button') === null") == "true")
    try browser.picture("transformable")
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }
}
