import Foundation
import Testing

@testable import StrataCore

/// Relationships come back from a damaged store, and lead only to what is back.
@Suite struct EdgeSalvageTests {
  /// A store of 60 people in 6 companies and everything between them; its codes of entities are other than a new store's.
  private func filled() throws -> EdgeFixture {
    let fixture = try EdgeFixture()
    var inserts = try (1...6).map { try fixture.insert("Company", $0) }
    inserts += try (1...60).map { try fixture.insert("Tag", $0) }
    inserts += try (1...10).map { try fixture.insert("Address", $0, ["sitter": ("Person", $0)]) }
    for key in UInt64(1)...60 {
      var references = [
        "employer": ("Company", key % 6 + 1), "visited": ("Company", key % 3 + 1),
        "favourite": ("Company", key % 5 + 1), "parent": ("Person", key / 2 + 1),
      ]
      if key <= 10 { references["seat"] = ("Address", key) }
      inserts.append(try fixture.insert("Person", key, references))
    }
    var edges: [EdgeChange] = []
    for key in UInt64(1)...59 {
      edges += [
        fixture.add("friends", key, ("Person", key + 1)), fixture.add("friends", key + 1, ("Person", key)),
        fixture.add("tags", key, ("Tag", key + 1)), fixture.add("people", key + 1, ("Person", key)),
        fixture.add("tags", key, ("Tag", key)), fixture.add("people", key, ("Person", key)),
        fixture.add("route", key, ("Tag", key + 1), at: 100 - key),
        fixture.add("route", key, ("Tag", 1), at: 70),
        fixture.add("links", key, ("Person", 60 - key)),
        fixture.add("visitors", key % 3 + 1, ("Person", key), at: 1000 - key),
      ]
    }
    try fixture.commit(inserts: inserts, edges: edges)
    #expect(try fixture.store.check().problems == [])
    return fixture
  }

  /// Everything about rows and edges, without what belongs to the store itself.
  private func content(_ store: LMDBStore) throws -> [String] {
    try store.textDump().split(separator: "\n").map(String.init).filter {
      $0.hasPrefix("rows:") || $0.hasPrefix("edges ")
    }
  }

  private func salvage(
    _ fixture: EdgeFixture, includesLoosePages: Bool = true, _ change: (inout [UInt8]) -> Void
  ) throws -> (SalvageReport, LMDBStore) {
    fixture.base.close()
    var image = [UInt8](try Data(contentsOf: fixture.base.url))
    change(&image)
    let source = fixture.base.directory.appendingPathComponent("Damaged.strata")
    try Data(image).write(to: source)
    let destination = fixture.base.directory.appendingPathComponent("Salvaged-\(UUID().uuidString).strata")
    let report = try LMDBStore.salvage(
      from: source, to: destination, model: EdgeFixture.model(), includesLoosePages: includesLoosePages)
    return (report, try LMDBStore(url: destination, schema: fixture.schema, options: .scratch))
  }

  @Test func soundStoreComesBackWithItsRelationships() throws {
    let fixture = try filled()
    let before = try content(fixture.store)
    let (report, store) = try salvage(fixture) { _ in }
    defer { store.close() }
    #expect(report.isComplete && report.check.isSound, "\(report) \(report.check.problems)")
    #expect(try content(store) == before)
  }

  /// Codes of entities are given in the order of a store's life: a salvaged store's references follow its own.
  @Test func referencesFollowTheNewStoresCodes() throws {
    let fixture = try EdgeFixture()
    fixture.base.close()
    // The old store met the entities in another order.
    let url = fixture.base.directory.appendingPathComponent("Damaged.strata")
    let first = try ManagedObjectModel(entities: [EntityDescription("Tag", properties: [])]).schema()
    try LMDBStore(url: url, schema: first, options: .scratch).close()
    var options = LMDBStoreOptions.scratch
    options.ignoresVersionHashes = true
    let old = try LMDBStore(url: url, schema: fixture.schema, options: options)
    func reference(_ entity: String, _ key: UInt64) -> UInt64 {
      Reference.bits(key, entityCode: old.rowStamp(entity: fixture.base.entity(entity).number).entityCode)
    }
    #expect(reference("Tag", 1) == Reference.bits(1, entityCode: 1))
    #expect(reference("Tag", 1) != fixture.reference("Tag", 1))
    let changes = ChangeSet(
      inserts: [
        try fixture.base.insert("Tag", [:], key: 1, store: old),
        try fixture.base.insert("Company", [:], key: 1, store: old),
        try fixture.base.insert(
          "Person", ["employer": .reference(reference("Company", 1))], key: 1, store: old),
      ],
      edges: [
        EdgeChange(
          relationship: fixture.relationship("route").number, owner: 1, member: reference("Tag", 1),
          kind: .add(position: nil))
      ])
    _ = try fixture.base.commit([changes], store: old)[0].get()
    old.close()
    let destination = fixture.base.directory.appendingPathComponent("Salvaged.strata")
    let report = try LMDBStore.salvage(from: url, to: destination)
    #expect(report.isComplete && report.check.isSound, "\(report) \(report.check.problems)")
    let store = try LMDBStore(url: destination, schema: fixture.schema, options: .scratch)
    defer { store.close() }
    let route = EdgeSet(relationship: fixture.relationship("route").number)
    let employees = EdgeSet(relationship: fixture.relationship("employees").number)
    #expect(try store.members(route, of: 1) == [fixture.reference("Tag", 1)])
    #expect(try store.members(employees, of: 1) == [fixture.reference("Person", 1)])
  }

  /// Pages are damaged at random: what comes back agrees with itself and was there before.
  @Test(arguments: 0..<3) func nothingIsInvented(part: Int) throws {
    let seed = testSeed() &+ UInt64(part)
    print("edge salvage seed \(seed)")
    var random = RandomValues(seed: seed)
    let fixture = try filled()
    let all = try content(fixture.store)
    let before = Set(all.map { $0.split(separator: " at ")[0] })
    for _ in 0..<rounds(4, long: 50) {
      let pages = (0..<1 + random.below(3)).map { _ in random.below(1000) }
      let (report, store) = try salvage(fixture) { image in
        for page in pages {
          let place = (2 + page % (image.count / 4096 - 2)) * 4096
          for offset in place..<place + 4096 { image[offset] = 0xA5 }
        }
      }
      defer { store.close() }
      #expect(report.check.isSound, "seed \(seed): \(report.check.problems)")
      let found = try content(store)
      // A reference that is nil now makes another row; counts depend on what is back.
      let edges = found.filter { $0.hasPrefix("edges ") && !$0.contains(" has ") }
      #expect(Set(edges.map { $0.split(separator: " at ")[0] }).isSubset(of: before), "seed \(seed)")
      if report.isComplete { #expect(found == all) }
    }
  }

  /// A company is lost: the rows that referred to it are named and refer to nothing.
  @Test func referencesToLostRowsAreNilAndNamed() throws {
    let fixture = try filled()
    try fixture.commit(updates: [fixture.update("Person", 7, ["watched": ("Company", 2)])])
    // The row's checksum is spoilt, below the store's back.
    let parts = fixture.store.parts
    let rows = try #require(parts.rows[fixture.hierarchy("Company")])
    try parts.environment.write { transaction in
      try PrimaryKeyBytes.with(2) { key in
        var bytes = Array(try #require(try transaction.get(rows, key)))
        bytes[0] ^= 1
        try bytes.withUnsafeBytes { try transaction.put(rows, key, $0) }
      }
    }
    let before = try content(fixture.store)
    let (report, store) = try salvage(fixture, includesLoosePages: false) { _ in }
    defer { store.close() }
    #expect(report.check.isSound, "\(report.check.problems)")
    #expect(!report.isComplete && report.damagedEntryCount == 1)
    let referring = before.filter { $0.hasPrefix("rows:Person") }.flatMap { line in
      ["employer=p2 ", "visited=p2 ", "favourite=p2 "].filter { line.contains($0) }
    }
    #expect(report.lostReferenceCount == referring.count && !referring.isEmpty)
    #expect(Set(report.lostReferences.map(\.relationship)) == ["employer", "visited", "favourite"])
    // watchers has noAction: the reference may lead nowhere.
    #expect(report.check.danglingReferenceCount == 1)
    #expect(try content(store).contains { $0.hasPrefix("rows:Person p7 ") && $0.contains("watched=p2") })
  }
}
