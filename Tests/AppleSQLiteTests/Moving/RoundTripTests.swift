import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite

/// Random graphs of random models go into Strata and back.
@Suite struct RoundTripTests {
  static let seeds = Array(
    1...(ProcessInfo.processInfo.environment["STRATA_GRAPHS"].flatMap { Int($0) } ?? 12))

  /// Writes a random graph in Apple's format.
  static func make(_ seed: Int, in folder: ScratchFolder, count: Int = 60) throws -> (
    AppleFixture, Schema, PlainGraph
  ) {
    var random = SeededGenerator(seed: UInt64(seed))
    let model = RandomModel.make(&random)
    let schema = try model.schema()
    let graph = PlainGraph.random(schema, &random, count: count)
    var fixture = AppleFixture(schema, graph, path: folder("App.sqlite"))
    fixture.metadata = ["note": .string("kept"), "parts": .array([.integer(7), .boolean(true)])]
    fixture.keepsHistory = random.chance(50)
    return (fixture, schema, graph)
  }

  @Test(arguments: seeds)
  func aRandomGraphInApplesFormatBecomesTheSameGraph(seed: Int) throws {
    let folder = try ScratchFolder()
    var (fixture, schema, graph) = try Self.make(seed, in: folder)
    try fixture.write(journalMode: seed.isMultiple(of: 2) ? "WAL" : "DELETE")
    let before = try contents(of: folder)
    let report = try AppleSQLite.importStore(from: folder.url("App.sqlite"), to: folder.url("A.strata"))
    // Apple's store is what it was, and nothing lies beside it but the new one.
    var after = try contents(of: folder)
    after["A.strata"] = nil
    #expect(after == before)
    #expect(report.isComplete, "\(report.findings)")
    #expect(report.objectCount == graph.objects.count)
    let found = try PlainGraph(strata: folder("A.strata"))
    #expect(graph.difference(found, schema) == nil)
    // The model came out of the cache, and is the same to the last detail that counts.
    let model = try LMDBStore.model(at: folder.url("A.strata"))
    #expect(model.entityVersionHashesByName == schema.model.entityVersionHashesByName)
    let metadata = try LMDBStore.metadata(at: folder.url("A.strata"))
    #expect(metadata[StoreMetadata.identifierKey] == .string(fixture.identifier.uuidString))
    #expect(metadata["note"] == .string("kept"))
  }

  @Test(arguments: seeds)
  func aRandomGraphGoesToApplesFormatAndBack(seed: Int) throws {
    let folder = try ScratchFolder()
    var (fixture, schema, graph) = try Self.make(seed, in: folder)
    try fixture.write()
    _ = try AppleSQLite.importStore(from: folder.url("App.sqlite"), to: folder.url("A.strata"))
    // By the file of the compiled model.
    let list: [String: Any] = [
      "NSManagedObjectModel_CurrentVersionName": "Now",
      "NSManagedObjectModel_VersionHashes": ["Now": AppleFixture.hashes(schema)],
    ]
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      .write(to: folder.url("VersionInfo.plist"))
    var report = try AppleSQLite.exportStore(
      from: folder.url("A.strata"), to: folder.url("B.sqlite"),
      hashes: .versionInfo(folder.url("VersionInfo.plist")))
    #expect(report.isComplete, "\(report.findings)")
    try check(folder("B.sqlite"), schema, graph, fixture.identifier, hasSums: true)
    var options = AppleImportOptions()
    options.model = schema.model
    _ = try AppleSQLite.importStore(
      from: folder.url("B.sqlite"), to: folder.url("C.strata"), options: options)
    #expect(graph.difference(try PlainGraph(strata: folder("C.strata")), schema) == nil)
    // Into an empty store of the app.
    var template = AppleFixture(schema, PlainGraph(), path: folder("Empty.sqlite"))
    template.keepsHistory = fixture.keepsHistory
    try template.write()
    report = try AppleSQLite.exportStore(
      from: folder.url("A.strata"), to: folder.url("D.sqlite"), hashes: .template(folder.url("Empty.sqlite")))
    #expect(report.isComplete, "\(report.findings)")
    try check(folder("D.sqlite"), schema, graph, fixture.identifier)
    _ = try AppleSQLite.importStore(from: folder.url("D.sqlite"), to: folder.url("E.strata"))
    #expect(graph.difference(try PlainGraph(strata: folder("E.strata")), schema) == nil)
  }

  /// The sum as the system's own program computes it, in base 64.
  private static func sum(_ program: String, of data: Data) throws -> String {
    let folder = try ScratchFolder()
    try data.write(to: folder.url("bytes"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program, folder("bytes")]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let said = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let digits = Array(String(decoding: said, as: UTF8.self).prefix { $0 != " " })
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(digits[$0...$0 + 1]), radix: 16)
    }
    return Data(bytes).base64EncodedString()
  }

  /// What the description of the format says of a store: pages, keys, hashes and the sums that follow from them.
  private func check(
    _ path: String, _ schema: Schema, _ graph: PlainGraph, _ identifier: UUID, hasSums: Bool = false
  ) throws {
    let file = try SourceFile(path)
    defer { file.close() }
    let database = file.database
    #expect(try database.value("PRAGMA integrity_check") == .text("ok"))
    #expect(try database.value("SELECT Z_UUID FROM Z_METADATA") == .text(identifier.uuidString))
    guard case .blob(let bytes)? = try database.value("SELECT Z_PLIST FROM Z_METADATA"),
      let list = try PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any]
    else {
      Issue.record("There is no metadata.")
      return
    }
    #expect(list["NSStoreModelVersionHashes"] as? [String: Data] == AppleFixture.hashes(schema))
    // A template keeps what it has, and older frameworks made no sums.
    #expect(list.keys.contains("NSStoreModelVersionHashesDigest") == hasSums)
    if hasSums {
      let hashes = AppleFixture.hashes(schema).sorted { $0.key < $1.key }
      let named = hashes.reduce(into: Data()) { $0 += Data($1.key.utf8) + $1.value }
      let alone = hashes.reduce(into: Data()) { $0 += $1.value }
      #expect(list["NSStoreModelVersionHashesDigest"] as? String == (try Self.sum("sha512sum", of: named)))
      #expect(list["NSStoreModelVersionChecksumKey"] as? String == (try Self.sum("sha256sum", of: alone)))
    }
    #expect(list["note"] as? String == "kept")
    for hierarchy in schema.hierarchies {
      let keys = graph.objects.keys.filter { schema.entities[$0.entity].hierarchyNumber == hierarchy.number }
        .map(\.key)
      // The counter of the fixture was three keys further.
      #expect(
        try database.value("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = '\(hierarchy.rootName)'")
          == .integer(Int64(keys.max() ?? 0) + 3))
      let table = "\"Z\(hierarchy.rootName.uppercased())\""
      #expect(try database.value("SELECT count(*) FROM \(table)") == .integer(Int64(keys.count)))
      #expect(
        try database.value("SELECT count(*) FROM \(table) WHERE Z_OPT = 1") == .integer(Int64(keys.count)))
    }
    if try AppleCatalogue(database).columns["ACHANGE"] != nil {
      #expect(
        try database.value("SELECT count(*) FROM ACHANGE WHERE ZTRANSACTIONID = 1 AND ZCHANGETYPE = 0")
          == .integer(Int64(graph.objects.count)))
    }
  }
}

/// The bytes of every file in a folder, and in those below it.
func contents(of folder: ScratchFolder) throws -> [String: Data] {
  var found: [String: Data] = [:]
  let names = FileManager.default.enumerator(atPath: folder.path)
  while let name = names?.nextObject() as? String {
    var isFolder: ObjCBool = false
    _ = FileManager.default.fileExists(atPath: folder(name), isDirectory: &isFolder)
    found[name] = isFolder.boolValue ? Data() : try Data(contentsOf: folder.url(name))
  }
  return found
}
