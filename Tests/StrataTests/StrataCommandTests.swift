import Foundation
import Strata
import Testing
import TortureKit

/// The program `strata`: what it prints, and one sentence with an exit code when it cannot. ToolTests has the rest.
@Suite struct StrataCommandTests {
  private func run(_ arguments: String...) throws -> (code: Int32, output: String, error: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: ChildProcess.program("strata"))
    process.arguments = arguments
    let (output, error) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = error
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complaint = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text, complaint)
  }

  private func makeStore(_ url: URL, count: Int = 300) throws {
    let book = EntityDescription("Book", properties: [AttributeDescription("title", .string)])
    let container = PersistentContainer(name: "Books", model: ManagedObjectModel(entities: [book]))
    let store = try container.persistentStoreCoordinator.addPersistentStore(
      PersistentStoreDescription(url: url))
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for number in 0..<count {
        let object = ManagedObject(entity: book, insertInto: context)
        object.setValue("title \(number)", forKey: "title")
      }
      try context.save()
    }
    try container.persistentStoreCoordinator.remove(store)
  }

  @Test func aStoreIsDescribedCheckedAndCopied() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = folder.url.appendingPathComponent("Books.strata")
    try makeStore(store)
    let info = try run("info", store.path)
    #expect(info.code == 0 && info.output.contains("rows:Book: 300 entries"), "\(info)")
    let check = try run("check", store.path)
    #expect(check.code == 0 && check.output.contains("Sound: 300 rows"), "\(check)")
    let copy = folder.url.appendingPathComponent("Copy.strata")
    #expect(try run("backup", store.path, copy.path).code == 0)
    let copied = try run("check", copy.path)
    #expect(copied.output == check.output)
    let again = try run("backup", store.path, copy.path)
    #expect(again.code == 10 && again.error.split(separator: "\n").count == 1, "\(again)")
  }

  @Test func theLogOfAStoreThatIsOpenIsDescribed() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let book = EntityDescription("Book", properties: [AttributeDescription("title", .string)])
    let container = PersistentContainer(name: "Books", model: ManagedObjectModel(entities: [book]))
    var description = PersistentStoreDescription(url: folder.url.appendingPathComponent("Books.strata"))
    description.keepsLog = true
    description.commitsBeforeLog = 0
    let store = try container.persistentStoreCoordinator.addPersistentStore(description)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for number in 0..<3 {
        ManagedObject(entity: book, insertInto: context).setValue("title \(number)", forKey: "title")
        try context.save()
      }
    }
    let path = folder.url.appendingPathComponent("Books.strata").path
    let open = try run("info", path)
    // How many commits there are since the checkpoint depends on when there was a quiet moment; not each is a save.
    let line = try Regex("log +65536 bytes, [0-9]+ commits since the checkpoint")
    #expect(open.code == 0 && open.output.contains(line), "\(open)")
    try container.persistentStoreCoordinator.remove(store)
    let closed = try run("info", path)
    #expect(try closed.code == 0 && closed.output.contains(Regex("log +none")), "\(closed)")
  }

  @Test func aDamagedStoreIsRefusedAndSalvaged() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = folder.url.appendingPathComponent("Books.strata")
    let new = folder.url.appendingPathComponent("New.strata")
    try makeStore(store)
    var bytes = try Data(contentsOf: store)
    // The root of the main tree, by the newer anchor.
    let roots = [0, 4096].map { page in
      bytes.withUnsafeBytes {
        (
          $0.loadUnaligned(fromByteOffset: page + 144, as: UInt64.self),
          Int($0.loadUnaligned(fromByteOffset: page + 128, as: UInt64.self))
        )
      }
    }
    let root = roots[0].0 > roots[1].0 ? roots[0].1 : roots[1].1
    bytes[root * 4096 + 12] ^= 0xFF
    try bytes.write(to: store)
    for task in ["check", "info"] {
      let refusal = try run(task, store.path)
      #expect(refusal.code == 3 && refusal.error.contains("Page \(root)"), "\(refusal)")
      #expect(refusal.error.hasPrefix("strata: ") && refusal.error.split(separator: "\n").count == 1)
    }
    // All rows are back, from the save before the last. Whether that is everything cannot be known.
    let salvage = try run("salvage", store.path, new.path)
    #expect(salvage.code == 2 && salvage.output.contains("Book: 300 rows"), "\(salvage)")
    #expect(try run("check", new.path).output.contains("Sound: 300 rows"))
    #expect(try Data(contentsOf: store) == bytes)
    let taken = try run("salvage", store.path, new.path)
    #expect(taken.code == 10 && taken.error.contains("already"), "\(taken)")
    let missing = try run("check", store.path + ".none")
    #expect(missing.code == 4 && missing.error.contains("There is no file"), "\(missing)")
  }

  /// What was readable is there, and the exit code shows a script that it is not everything.
  @Test func anIncompleteSalvageHasItsOwnExitCode() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = folder.url.appendingPathComponent("Books.strata")
    let new = folder.url.appendingPathComponent("New.strata")
    try makeStore(store)
    var bytes = try Data(contentsOf: store)
    var from = bytes.startIndex
    while let found = bytes.range(of: Data("title 17".utf8), in: from..<bytes.endIndex) {
      bytes[found.lowerBound] ^= 0x20
      from = found.upperBound
    }
    try bytes.write(to: store)
    let salvage = try run("salvage", store.path, new.path)
    #expect(salvage.code == 2 && salvage.output.contains("Incomplete"), "\(salvage)")
    #expect(try run("check", new.path).output.contains("Sound"))
    let help = try run("salvage", "--help").output.split(whereSeparator: \.isWhitespace)
    #expect(help.joined(separator: " ").contains("with exit code 2 when"))
  }

  /// Neither under the new name nor beside it.
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGKILL])
  func aSalvageThatIsStoppedLeavesNothing(signal: Int32) async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = folder.url.appendingPathComponent("Books.strata")
    let new = folder.url.appendingPathComponent("New.strata")
    try makeStore(store, count: 20_000)
    func names() throws -> Set<String> {
      Set(try FileManager.default.contentsOfDirectory(atPath: folder.url.path))
    }
    let before = try names()
    let child = try ChildProcess(ChildProcess.program("strata"), ["salvage", store.path, new.path])
    while try names() == before { usleep(500) }
    child.stop()
    Foundation.kill(child.identifier, signal)
    child.resume()
    let code = child.wait()
    #expect(code == 128 + signal || code == 0 && signal != SIGKILL)
    if signal != SIGKILL, FileManager.default.fileExists(atPath: new.path) {
      // On a busy machine it may come to its end before the signal comes to it: then the new store is whole.
      #expect(try run("check", new.path).output.contains("Sound"))
      #expect(try names().subtracting(["New.strata-lock"]) == before.union(["New.strata"]))
      return
    }
    #expect(!FileManager.default.fileExists(atPath: new.path))
    if signal == SIGKILL {
      // The process could not tidy up; the next one does.
      #expect(try names() != before)
    } else {
      #expect(try names() == before)
    }
    let again = try run("salvage", store.path, new.path)
    #expect(again.code == 0, "\(again)")
    #expect(try names() == before.union(["New.strata"]))
  }

  @Test func theHistoryIsListedNewestFirstAndNothingIsWritten() throws {
    let stand = try HistoryStand()
    try stand.make("Note", ["title": "first"], in: stand.context(author: "Anna", name: "editor"))
    let context = stand.context(author: "Bert")
    let note = try stand.make("Note", ["title": "second"], in: context)
    note.setValue("third", forKey: "title")
    try context.save()
    context.delete(note)
    try context.save()
    try stand.coordinator.remove(stand.store)
    let bytes = try Data(contentsOf: stand.url)
    let all = try run("history", stand.url.path, "--changes")
    let lines = all.output.split(separator: "\n")
    #expect(all.code == 0 && lines.count == 8, "\(all)")
    #expect(
      lines.first?.hasPrefix("4  ") == true && lines.first?.contains("1 deleted  by Bert from ") == true)
    #expect(
      all.output.contains("  delete Note p2: title = third") && all.output.contains("  update Note p2: title")
    )
    #expect(lines.dropLast().last?.contains("1 inserted  by Anna in editor") == true)
    let some = try run("history", stand.url.path, "--author", "Bert", "--limit", "2")
    #expect(some.output.split(separator: "\n").map { $0.prefix(1) } == ["4", "3"], "\(some)")
    #expect(try Data(contentsOf: stand.url) == bytes)
    let plain = stand.folder.url.appendingPathComponent("Plain.strata")
    try makeStore(plain)
    let refusal = try run("history", plain.path)
    #expect(refusal.code == 4 && refusal.error.contains("records a history"), "\(refusal)")
  }

  @Test func sourcesArePortedOnDemandOnly() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = folder.url.appendingPathComponent("Event.swift")
    let source = "import CoreData\nimport Combine\n@objc(Event)\nclass Event: NSManagedObject {}\n"
    try Data(source.utf8).write(to: file)
    let model = folder.url.appendingPathComponent("Shop.xcdatamodeld")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    let dry = try run("port-core-data", folder.url.path)
    #expect(dry.code == 0 && dry.output.contains("Event.swift:3: @objc(Event) deleted"), "\(dry)")
    #expect(
      dry.output.contains("none made yet") && dry.output.contains("Shop.xcdatamodeld: name it"), "\(dry)")
    #expect(try String(contentsOf: file, encoding: .utf8) == source)
    let made = try run("port-core-data", folder.url.path, "--apply")
    #expect(
      made.code == 0 && made.output.contains("2 edits in 1 of 1 file made; 2 things to do by hand."),
      "\(made)")
    #expect(
      try String(contentsOf: file, encoding: .utf8)
        == "import CoreData\n#if canImport(Combine)\nimport Combine\n#elseif canImport(CoreDataCombine)\nimport CoreDataCombine\n#endif\nclass Event: NSManagedObject {}\n"
    )
    let none = try run("port-core-data", folder.url.appendingPathComponent("None").path)
    #expect(none.code == 4 && none.error.split(separator: "\n").count == 1, "\(none)")
  }
}
