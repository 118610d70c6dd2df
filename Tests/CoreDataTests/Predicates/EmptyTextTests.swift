import CoreData
import Testing

/// The empty text is found in no text.
@Suite("Empty texts in predicates")
struct EmptyTextTests {
  /// Five birds with a name, one with an empty one, and one without.
  private func stocked() throws -> NSManagedObjectContext {
    let context = try BirdStand().stocked()
    BirdStand.bird("", 1, 1, nil, context)
    BirdStand.bird(nil, 1, 1, nil, context)
    try context.save()
    return context
  }

  private func check(_ predicate: NSPredicate, _ count: Int, _ context: NSManagedObjectContext) throws {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    #expect(try context.fetch(request).count { predicate.evaluate(with: $0) } == count, "\(predicate)")
    request.predicate = predicate
    #expect(try context.count(for: request) == count, "\(predicate), fetched")
  }

  @Test(
    "CONTAINS, BEGINSWITH and ENDSWITH find an empty text nowhere",
    arguments: ["CONTAINS", "BEGINSWITH", "ENDSWITH"], ["", "[c]", "[d]", "[cd]"])
  func operators(_ name: String, _ options: String) throws {
    let context = try stocked()
    try check(NSPredicate(format: "name \(name)\(options) %@", ""), 0, context)
    try check(NSPredicate(format: "name \(name)\(options) ''"), 0, context)
    try check(NSPredicate(format: "NOT name \(name)\(options) %@", ""), 7, context)
    try check(NSPredicate(format: "lowercase(name) \(name)\(options) %@", ""), 0, context)
    try check(NSPredicate(format: "site.name \(name)\(options) %@", ""), 0, context)
    try check(NSPredicate(format: "ANY site.birds.name \(name)\(options) %@", ""), 0, context)
    try check(
      NSPredicate(format: "SUBQUERY(site.birds, $b, $b.name \(name)\(options) %@).@count > 0", ""), 0, context
    )
    // Among them are those whose name is empty, and has no part.
    try check(NSPredicate(format: "name \(name)\(options) name"), 5, context)
  }

  @Test("A text does not have the empty one as a part of it")
  func parts() throws {
    let context = try stocked()
    try check(NSPredicate(format: "%@ CONTAINS[cd] name", "Wren and gull"), 2, context)
    try check(NSPredicate(format: "%@ CONTAINS name", "wren and gull"), 2, context)
    try check(NSPredicate(format: "name IN %@", "wren and gull"), 2, context)
    #expect(NSArray(array: ["a", ""]).filtered(using: NSPredicate(format: "SELF CONTAINS ''")).isEmpty)
    #expect(NSArray(array: ["a", ""]).filtered(using: NSPredicate(format: "SELF IN %@", "abc")).count == 1)
  }

  @Test("LIKE has patterns, of which empty ones and stars match as they are")
  func patterns() throws {
    let context = try stocked()
    try check(NSPredicate(format: "name LIKE ''"), 1, context)
    try check(NSPredicate(format: "name LIKE '*'"), 6, context)
    try check(NSPredicate(format: "name LIKE[c] '*'"), 6, context)
    try check(NSPredicate(format: "name == ''"), 1, context)
  }

  @Test("#Predicate says what Swift says of texts")
  func swiftPredicates() throws {
    let context = try stocked()
    let empty = ""
    let searched = try #require(
      NSPredicate(#Predicate<Bird> { ($0.name ?? "x").localizedStandardContains(empty) }))
    try check(searched, 0, context)
    let contained = try #require(NSPredicate(#Predicate<Bird> { ($0.name ?? "x").contains(empty) }))
    try check(contained, 7, context)
    let begun = try #require(NSPredicate(#Predicate<Bird> { ($0.name ?? "x").starts(with: empty) }))
    try check(begun, 7, context)
  }
}
