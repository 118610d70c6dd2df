import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Derived values of so many rows that it counts how they are found.
@Suite struct ManyRowsTests {
  private struct Silence: Error {}

  /// What the server has counted of a table; waits until the session that has worked on it has handed its counts on.
  private func scanned(_ url: URL, _ namespace: String, _ table: String, rows: Int) throws -> Int64 {
    let connection = try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    let end = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < end {
      var question = SQLStatement(
        "SELECT seq_tup_read, n_tup_ins FROM pg_catalog.pg_stat_all_tables WHERE schemaname = ")
      question += question.bind(namespace) + " AND relname = " + question.bind(table)
      let answer = try connection.run(question)
      if answer.rowCount == 1, try answer.integer(0, 1) >= Int64(rows) { return try answer.integer(0, 0) }
      Thread.sleep(forTimeInterval: 0.05)
    }
    throw Silence()
  }

  /// Counts and sums of each owner are looked up by index: reading all members for each would take hours of a large store.
  @Test func aMigrationLooksUpWhatItDerives() throws {
    let stand = try ServerStand(Discography.make(derives: false))
    let (owners, members) = (400, 4_000)
    let codes = stand.store.mapping
    let entity = { (name: String) throws -> UInt16 in
      codes.codes[try #require(codes.schema.entity(named: name)).number]
    }
    try stand.sql(
      """
      INSERT INTO \(stand.table("album")) (pk, entity, version, title) SELECT n, \(entity("Album")), 1, 'Title ' || n FROM generate_series(1, \(owners)) n;
      INSERT INTO \(stand.table("track")) (pk, entity, version, name, seconds, album) SELECT n, \(entity("Track")), 1, 'Track ' || n, n, n % \(owners) + 1 FROM generate_series(1, \(members)) n
      """)
    for store in stand.coordinator.persistentStores { try stand.coordinator.remove(store) }
    try PostgresStores.migrate(at: stand.url, to: Discography.make())
    let read = try scanned(stand.url, codes.namespace, "track", rows: members)
    #expect(read < Int64(20 * members), "the members were read for each owner: \(read) rows")
    let migrated = try stand.neighbour(Discography.make())
    let wrong = try migrated.sql(
      "SELECT count(*) FROM \(stand.table("album")) a WHERE a.track_count <> 10 OR a.seconds <> (SELECT sum(t.seconds) FROM \(stand.table("track")) t WHERE t.album = a.pk)"
    )
    #expect(try wrong?.text(0, 0) == "0")
    for store in migrated.coordinator.persistentStores { try migrated.coordinator.remove(store) }
  }

  private func nodes() -> ManagedObjectModel {
    let node = EntityDescription(
      "Node",
      properties: [
        AttributeDescription("amount", .integer64, isOptional: true),
        DerivedAttributeDescription("total", .integer64, derivationExpression: "children.@sum.amount"),
      ])
    let parent = RelationshipDescription("parent", to: node, maxCount: 1)
    let children = RelationshipDescription("children", to: node, maxCount: 0)
    parent.inverseRelationship = children
    children.inverseRelationship = parent
    node.properties += [parent, children]
    return ManagedObjectModel(entities: [node])
  }

  /// A batch update writes 10,000 rows at a time, and what follows from them, whatever the batch's size.
  @Test func aLargeBatchIsWrittenInSteps() throws {
    func update(_ count: Int, options: PostgresStoreOptions = PostgresStoreOptions()) throws -> Int {
      let stand = try ServerStand(nodes(), options: options)
      // Twenty rows of each hundred are members of the hundredth.
      try stand.sql(
        """
        INSERT INTO \(stand.table("node")) (pk, entity, version, amount, parent, total, baseline)
        SELECT n, 1, 1, n, CASE WHEN n % 100 BETWEEN 1 AND 20 THEN n - n % 100 + 100 END, 0, 1 FROM generate_series(1, \(count)) n;
        UPDATE \(stand.table("node")) o SET total = s.sum FROM (SELECT parent, sum(amount) AS sum FROM \(stand.table("node")) GROUP BY parent) s WHERE o.pk = s.parent
        """)
      let before = stand.store.roundTrips
      let result = try stand.context().execute(
        BatchUpdateRequest(
          entityName: "Node", propertiesToUpdate: ["amount": try FetchExpression(format: "amount + 1")]))
      let trips = stand.store.roundTrips - before
      #expect(result.count == count)
      let wrong = try stand.sql(
        "SELECT count(*) FROM \(stand.table("node")) o WHERE o.amount <> o.pk + 1 OR o.total <> COALESCE((SELECT sum(m.amount) FROM \(stand.table("node")) m WHERE m.parent = o.pk), 0)"
      )
      #expect(try wrong?.text(0, 0) == "0")
      return trips
    }
    var unbounded = PostgresStoreOptions()
    unbounded.batchStep = .max
    let one = try update(500)
    #expect(try update(20_300, options: unbounded) == one, "all rows together")
    let stepped = try update(20_300)
    // Three steps: each writes its rows, asks what follows from them, and writes that.
    #expect(stepped >= one + 4, "\(stepped) round trips, \(one) for a single step")
  }
}
