import CoreData
import Testing

@Suite("Dictionaries, and what cannot be an argument of a predicate")
struct DictionaryArgumentTests {
  private let context: NSManagedObjectContext
  private let stand: BirdStand

  init() throws {
    stand = try BirdStand()
    context = try stand.stocked()
  }

  /// What a predicate finds in the store, and in memory.
  private func found(_ predicate: NSPredicate) throws -> [[String]] {
    let birds = try context.fetch(Bird.fetchRequest())
    let here = birds.filter { predicate.evaluate(with: $0) }.map { $0.name ?? "nil" }.sorted()
    return [try names(predicate, in: context), here]
  }

  @Test("IN looks through the values of a dictionary, and so does CONTAINS: in a fetch and in memory")
  func values() throws {
    let wanted = ["a": "wren", "b": "swan"]
    for dictionary in [wanted, NSDictionary(dictionary: wanted)] as [Any] {
      for format in ["name IN %@", "%@ CONTAINS name"] {
        let predicate = NSPredicate(format: format, argumentArray: [dictionary])
        #expect(try found(predicate) == [["swan", "wren"], ["swan", "wren"]], "\(format) \(dictionary)")
      }
      let variable = NSPredicate(format: "name IN $wanted")
        .withSubstitutionVariables(["wanted": dictionary])
      #expect(try found(variable) == [["swan", "wren"], ["swan", "wren"]])
      let refused = NSPredicate(format: "NOT name IN %@", argumentArray: [dictionary])
      #expect(try found(refused) == [["coot", "gull", "robin"], ["coot", "gull", "robin"]])
    }
    let wren = try #require(try context.fetch(Bird.fetchRequest()).first { $0.name == "wren" })
    let itself = NSPredicate(format: "SELF IN %@", argumentArray: [["x": wren]])
    #expect(try found(itself) == [["wren"], ["wren"]])
    #expect(try found(NSPredicate(format: "name IN %@", argumentArray: [[String: Any]()])) == [[], []])
  }

  @Test("The keys of a dictionary are no values of it, and @count counts its entries")
  func keysAndCount() throws {
    let predicate = NSPredicate(format: "name IN %@", argumentArray: [["wren": "x"]])
    #expect(try found(predicate) == [[], []])
    let marks: [String: Any] = ["marks": ["a": 1, "b": 2] as [String: Any], "void": NSDictionary()]
    #expect(NSPredicate(format: "marks.@count == 2 AND void.@count == 0").evaluate(with: marks))
    #expect(NSPredicate(format: "2 IN marks AND NOT marks CONTAINS 3").evaluate(with: marks))
  }

  @Test("A fetch refuses what no attribute holds with 134060, and with the words")
  func refused() throws {
    for argument in [Locale(identifier: "en"), [["wren"]], 1...4, NSObject()] as [Any] {
      let predicate = NSPredicate(format: "tally IN %@", argumentArray: [argument])
      let error = #expect(throws: CocoaError.self) { try names(predicate, in: context) }
      #expect(error?.errorCode == 134_060, "\(argument)")
      #expect(error?.localizedDescription.contains("predicate") == true)
      #expect(error?.userInfo[NSUnderlyingErrorKey] != nil)
    }
    let same = NSPredicate(format: "name == %@", argumentArray: [["a": "wren"]])
    #expect(throws: CocoaError.self) { try names(same, in: context) }
  }

  @Test("A range stops the process in memory, as a fetch refuses it")
  func ranges() async {
    await #expect(processExitsWith: .failure) {
      _ = NSPredicate(format: "n IN %@", argumentArray: [1...4]).evaluate(with: ["n": 2])
    }
    await #expect(processExitsWith: .failure) {
      _ = NSPredicate(format: "n BETWEEN %@", argumentArray: [1...2]).evaluate(with: ["n": 2])
    }
  }
}
