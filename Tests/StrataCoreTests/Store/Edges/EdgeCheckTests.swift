import Foundation
import Testing

@testable import StrataCore

/// Each kind of damage to edges and references, planted below the store's back, is found and named.
@Suite struct EdgeCheckTests {
  /// A sound store with relationships of every kind; `damage` changes the keyspace of edges. What the check then says.
  private func problems(
    _ damage: @escaping @Sendable (EdgeWorkbench, borrowing WriteTransaction) throws -> Void
  ) throws -> [String] {
    let fixture = try EdgeFixture()
    try fixture.commit(
      inserts: [
        fixture.insert("Company", 1), fixture.insert("Tag", 1), fixture.insert("Tag", 2),
        fixture.insert("Address", 1, ["sitter": ("Person", 1)]),
        fixture.insert("Person", 1, ["employer": ("Company", 1), "seat": ("Address", 1)]),
        fixture.insert(
          "Person", 2, ["employer": ("Company", 1), "favourite": ("Company", 1), "visited": ("Company", 1)]),
      ],
      edges: [
        fixture.add("friends", 1, ("Person", 2)), fixture.add("friends", 2, ("Person", 1)),
        fixture.add("likes", 1, ("Company", 1)), fixture.add("fans", 1, ("Person", 1)),
        fixture.add("route", 1, ("Tag", 1)), fixture.add("route", 1, ("Tag", 2)),
      ])
    let check = try fixture.store.check()
    #expect(check.problems == [])
    #expect(check.edgeCount == 12)
    let bench = EdgeWorkbench(
      edges: try #require(fixture.store.parts.edges), catalogue: fixture.store.catalogue,
      parts: fixture.store.parts)
    try fixture.store.parts.environment.write { try damage(bench, $0) }
    return try fixture.store.check().problems.map(\.description).sorted()
  }

  @Test func missingEdges() throws {
    #expect(
      try problems { try $0.take("Company.employees", 1, "Person", 2, $1) } == [
        "edgeCountWrong: Company.employees p1: 2 for 1", "edgeMissing: Company.employees p1 → p2",
      ])
    #expect(
      try problems { try $0.take("Person.favourite", 1, "Person", 2, hidden: true, $1) } == [
        "edgeCountWrong: Person.favourite backwards p1: 1 for 0",
        "edgeMissing: Person.favourite backwards p1 → p2",
      ])
    #expect(
      try problems { try $0.take("Person.friends", 1, "Person", 2, $1) } == [
        "edgeCountWrong: Person.friends p1: 1 for 0", "edgeMissing: Person.friends p1 → p2",
      ])
    #expect(
      try problems { try $0.take("Company.fans", 1, "Person", 1, $1) } == [
        "edgeCountWrong: Company.fans p1: 1 for 0", "edgeMissing: Company.fans p1 → p1",
      ])
    #expect(
      try problems { try $0.take("Person.likes", 1, "Company", 1, $1) } == [
        "edgeCountWrong: Person.likes p1: 1 for 0", "edgeMissing: Person.likes p1 → p1",
      ])
    #expect(
      try problems { try $0.take("Person.route", 2, "Person", 1, hidden: true, $1) } == [
        "edgeCountWrong: Person.route backwards p2: 1 for 0", "edgeMissing: Person.route backwards p2 → p1",
      ])
  }

  @Test func strayEdges() throws {
    #expect(
      try problems { bench, transaction in
        try bench.put("Company.employees", 1, "Person", 3, transaction)
        try bench.putCount("Company.employees", 1, 3, transaction)
      } == ["edgeStray: Company.employees p1 → p3"])
    #expect(
      try problems { bench, transaction in
        try bench.put("Person.route", 1, "Person", 2, hidden: true, transaction)
        try bench.putCount("Person.route", 1, 2, hidden: true, transaction)
      } == ["edgeStray: Person.route backwards p1 → p2"])
    // A code that was never given, an order list of an unordered relationship, keys of other lengths.
    #expect(
      try problems { bench, transaction in
        try bench.put([0x3F, 0xFF, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 0, 0], transaction)
      } == ["edgeStray: 3fff000000000001"])
    #expect(
      try problems { bench, transaction in
        try bench.put([0x3F], [], transaction)
        let code = UInt8(bench.code("Company.employees"))
        try bench.put([0, code, 0, 0, 0, 0, 0, 1, 9], [], transaction)
        try bench.put([0x40, code, 0, 0, 0, 0, 0, 1], [], transaction)
      }.map { $0.split(separator: ":")[0] } == ["edgeStray", "edgeStray", "edgeStray"])
  }

  @Test func wrongCounts() throws {
    for count: UInt64 in [1, 3, 1 << 48] {
      #expect(
        try problems { try $0.putCount("Company.employees", 1, count, $1) } == [
          "edgeCountWrong: Company.employees p1: \(count) for 2"
        ])
    }
    for count: UInt64 in [0, 1, 3, .max] {
      #expect(
        try problems { try $0.putCount("Person.route", 1, count, $1) } == [
          "edgeCountWrong: Person.route p1: \(count) for 2"
        ])
    }
    #expect(
      try problems { try $0.putCount("Company.employees", 9, 1, $1) } == [
        "edgeCountWrong: Company.employees p9: 1 for 0"
      ])
    #expect(
      try problems { bench, transaction in
        try bench.put(bench.countKey("Person.route", 1), [2], transaction)
      } == ["edgeCountWrong: Person.route p1: 18446744073709551615 for 2"])
    // A damaged number: nothing of the owner can be read.
    for bytes: [UInt8] in [[], [0], [0xFF], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]] {
      let found = try problems { bench, transaction in
        try bench.put(bench.countKey("Company.employees", 1), bytes, transaction)
      }
      #expect(found.contains { $0.hasPrefix("edgeCountWrong: Company.employees p1: ") }, "\(bytes)")
      #expect(found.contains("edgeMissing: Company.employees p1 → p2"), "\(bytes)")
    }
  }

  @Test func wrongOrder() throws {
    let first = EdgePosition.first
    #expect(
      try problems { try $0.takeOrder("Person.route", 1, first, "Tag", 1, $1) } == [
        "edgeOrderWrong: Person.route p1 → p1 is not in order"
      ])
    #expect(
      try problems { bench, transaction in
        try bench.takeOrder("Person.route", 1, first, "Tag", 1, transaction)
        try bench.putOrder("Person.route", 1, first + 1, "Tag", 1, transaction)
      }.map { $0.split(separator: ":")[0] } == ["edgeOrderWrong", "edgeOrderWrong"])
    #expect(
      try problems { try $0.putOrder("Person.route", 1, .max, "Tag", 2, $1) }.map {
        $0.split(separator: ":")[0]
      } == ["edgeOrderWrong"])
    // A chunk that begins among the members of the head, one whose members are below its bound, and damaged members.
    let code: [UInt8] = [1]
    #expect(
      try problems { bench, transaction in
        let key = bench.edgeKey("Company.employees", 1, "Person", 2)
        try bench.put(key, bench.packed([("Person", 2)]), transaction)
      }.contains { $0.hasPrefix("edgeOrderWrong: Company.employees") })
    #expect(
      try problems { bench, transaction in
        let key = bench.edgeKey("Company.employees", 1, "Person", 9)
        try bench.put(key, bench.packed([("Person", 8)]), transaction)
      }.contains("edgeOrderWrong: Company.employees p1 → p8"))
    #expect(
      try problems { bench, transaction in
        try bench.put(bench.edgeKey("Company.employees", 1, "Person", 9), code, transaction)
      }.contains { $0.hasPrefix("edgeStray: Company.employees") })
    // No position where one belongs.
    #expect(
      try problems { bench, transaction in
        try bench.put(bench.edgeKey("Company.visitors", 1, "Person", 2), [], transaction)
      }.map { $0.split(separator: ":")[0] } == ["edgeOrderWrong", "edgeOrderWrong"])
  }

  @Test func referencesThatLeadNowhere() throws {
    // The row of the company goes; everything that leads there stays.
    let found = try problems { bench, transaction in
      try bench.takeRow("Company", 1, transaction)
    }
    #expect(
      found == [
        "referenceDangling: Company.fans p1 → p1", "referenceDangling: Person.employer p1 → p1",
        "referenceDangling: Person.employer p2 → p1", "referenceDangling: Person.favourite p2 → p1",
        "referenceDangling: Person.likes p1 → p1", "referenceDangling: Person.visited p2 → p1",
      ])
    let edge = try problems { bench, transaction in
      try bench.put("Person.likes", 1, "Company", 5, transaction)
      try bench.putCount("Person.likes", 1, 2, transaction)
    }
    #expect(
      edge == ["edgeMissing: Company.fans p5 → p1", "referenceDangling: Person.likes p1 → p5"])
  }

  /// A one-to-one relationship that only one of the two knows of.
  @Test func partnerThatDoesNotReferBack() throws {
    let fixture = try EdgeFixture()
    var changes = try ChangeSet(inserts: [
      fixture.insert("Address", 1), fixture.insert("Person", 1, ["seat": ("Address", 1)]),
      fixture.insert("Address", 2, ["sitter": ("Person", 2)]), fixture.insert("Person", 2),
    ])
    // What a salvage writes is not checked.
    changes.checksReferences = false
    _ = try fixture.base.commit([changes])[0].get()
    #expect(
      try fixture.store.check().problems.map(\.description).sorted() == [
        "edgeMissing: Address.sitter p1 → p1", "edgeMissing: Person.seat p2 → p2",
      ])
  }

  /// Edges of a relationship that the model no longer has are left to a migration.
  @Test func edgesOfUnknownRelationshipsAreLeftAlone() throws {
    #expect(
      try problems { bench, transaction in
        try bench.parts.meta.put("relationship/Person.gone", number: UInt16(200), transaction)
        try bench.put([0, 200, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1], [], transaction)
      } == [])
  }
}

/// Changes single entries of the keyspace of edges.
struct EdgeWorkbench: Sendable {
  let edges: Keyspace
  let catalogue: StoreCatalogue
  let parts: StoreParts

  struct Missing: Error {}

  func code(_ name: String) -> UInt16 { catalogue.relationships.codesByName[name] ?? 0 }

  private func prefix(_ name: String, _ owner: UInt64, _ hidden: Bool) -> UInt64 {
    EdgeKey.prefix(code(name) | (hidden ? EdgeKey.hiddenInverse : 0), owner)
  }

  private func reference(_ entity: String, _ key: UInt64) -> UInt64 {
    let number = parts.schema.entity(named: entity)?.number ?? 0
    return Reference.bits(key, entityCode: catalogue.entityCodes[number])
  }

  func countKey(_ name: String, _ owner: UInt64, hidden: Bool = false) -> [UInt8] {
    EdgeKey.withCount(prefix(name, owner, hidden)) { Array($0) }
  }

  func edgeKey(_ name: String, _ owner: UInt64, _ entity: String, _ member: UInt64, hidden: Bool = false)
    -> [UInt8]
  {
    EdgeKey.withEdge(prefix(name, owner, hidden), reference(entity, member)) { Array($0) }
  }

  func put(_ key: [UInt8], _ value: [UInt8], _ transaction: borrowing WriteTransaction) throws {
    try key.withUnsafeBytes { key in try value.withUnsafeBytes { try transaction.put(edges, key, $0) } }
  }

  func take(_ key: [UInt8], _ transaction: borrowing WriteTransaction) throws {
    guard try key.withUnsafeBytes({ try transaction.delete(edges, $0) }) else { throw Missing() }
  }

  private func isOrdered(_ name: String, _ hidden: Bool) -> Bool {
    !hidden && catalogue.relationships.isOrdered(code: code(name))
  }

  /// Members as a chunk has them.
  func packed(_ members: [(String, UInt64)]) -> [UInt8] { pack(members.map { reference($0.0, $0.1) }) }

  private func pack(_ members: [UInt64], count: UInt64? = nil) -> [UInt8] {
    var bytes: ContiguousArray<UInt8> = []
    if let count { bytes.append(varint: count) }
    PackedEdges.append(ContiguousArray(members), members.indices, to: &bytes)
    return Array(bytes)
  }

  /// Changes what the head of an owner without chunks holds.
  private func changeHead(
    _ name: String, _ owner: UInt64, _ hidden: Bool, _ transaction: borrowing WriteTransaction,
    _ change: (inout UInt64, inout [UInt64]) -> Void
  ) throws {
    let key = countKey(name, owner, hidden: hidden)
    var (count, members): (Int, [UInt64]) = (0, [])
    if let value = try key.withUnsafeBytes({ try transaction.get(edges, $0) }) {
      var packed = PackedMembers(head: value, count: &count)
      while let member = packed?.next() { members.append(member) }
    }
    var number = UInt64(count)
    change(&number, &members)
    try put(key, pack(members.sorted(), count: number), transaction)
  }

  func put(
    _ name: String, _ owner: UInt64, _ entity: String, _ member: UInt64, hidden: Bool = false,
    _ transaction: borrowing WriteTransaction
  ) throws {
    if isOrdered(name, hidden) {
      return try put(edgeKey(name, owner, entity, member, hidden: hidden), [], transaction)
    }
    let member = reference(entity, member)
    try changeHead(name, owner, hidden, transaction) { $1.append(member) }
  }

  func take(
    _ name: String, _ owner: UInt64, _ entity: String, _ member: UInt64, hidden: Bool = false,
    _ transaction: borrowing WriteTransaction
  ) throws {
    if isOrdered(name, hidden) {
      return try take(edgeKey(name, owner, entity, member, hidden: hidden), transaction)
    }
    let member = reference(entity, member)
    var wasThere = false
    try changeHead(name, owner, hidden, transaction) { _, members in
      wasThere = members.contains(member)
      members.removeAll { $0 == member }
    }
    if !wasThere { throw Missing() }
  }

  func putCount(
    _ name: String, _ owner: UInt64, _ count: UInt64, hidden: Bool = false,
    _ transaction: borrowing WriteTransaction
  ) throws {
    if !isOrdered(name, hidden) {
      return try changeHead(name, owner, hidden, transaction) { number, _ in number = count }
    }
    let value = withUnsafeBytes(of: count.littleEndian) { Array($0) }
    try put(countKey(name, owner, hidden: hidden), value, transaction)
  }

  private func orderKey(
    _ name: String, _ owner: UInt64, _ position: UInt64, _ entity: String, _ member: UInt64
  ) -> [UInt8] {
    EdgeKey.withOrder(prefix(name, owner, false), position, reference(entity, member)) { Array($0) }
  }

  func putOrder(
    _ name: String, _ owner: UInt64, _ position: UInt64, _ entity: String, _ member: UInt64,
    _ transaction: borrowing WriteTransaction
  ) throws {
    try put(orderKey(name, owner, position, entity, member), [], transaction)
  }

  func takeOrder(
    _ name: String, _ owner: UInt64, _ position: UInt64, _ entity: String, _ member: UInt64,
    _ transaction: borrowing WriteTransaction
  ) throws {
    try take(orderKey(name, owner, position, entity, member), transaction)
  }

  func takeRow(_ entity: String, _ key: UInt64, _ transaction: borrowing WriteTransaction) throws {
    guard let hierarchy = parts.schema.entity(named: entity)?.hierarchyNumber,
      let rows = parts.rows[hierarchy],
      try PrimaryKeyBytes.with(key, { try transaction.delete(rows, $0) })
    else { throw Missing() }
  }
}
