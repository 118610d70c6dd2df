import CoreData
import Testing

@Suite("Expressions of to-many relationships in memory")
struct SetExpressionTests {
  private func value(_ path: String, _ object: Any?) -> Any? {
    NSExpression(forKeyPath: path).expressionValue(with: object, context: nil)
  }

  @Test("A key path through a relationship is a set, as value(forKeyPath:) says")
  func sets() throws {
    let context = try BirdStand().stocked()
    let birds = try context.fetch(Bird.fetchRequest())
    let lake = try #require(birds.first { $0.name == "swan" }?.site)
    let tallies = try #require(value("birds.tally", lake) as? NSSet)
    #expect(tallies.count == 2 && tallies.contains(3) && tallies.contains(12))
    #expect(tallies.isEqual(lake.value(forKeyPath: "birds.tally")))
    let coot = try #require(birds.first { $0.name == "coot" })
    #expect((value("site.birds.name", coot) as? NSSet)?.count == 2)
    let gull = try #require(birds.first { $0.name == "gull" })
    #expect(value("site.birds.name", gull) == nil)
    let called = NSExpression(
      forFunction: NSExpression.expressionForEvaluatedObject(), selectorName: "valueForKeyPath:",
      arguments: ["birds.tally"])
    #expect(called.expressionValue(with: lake, context: nil) is NSSet)
    #expect((value("birds.tally", ["birds": NSSet(array: [coot])]) as? NSSet)?.contains(12) == true)
    #expect(!(value("birds.tally", ["birds": [coot]]) is NSSet))
  }

  @Test("Aggregates are of all members, also of those with the same value")
  func aggregates() throws {
    let context = try BirdStand().stocked()
    let birds = try context.fetch(Bird.fetchRequest())
    let wren = try #require(birds.first { $0.name == "wren" })
    for bird in birds { bird.tally = 7 }
    #expect((value("site.birds.tally", wren) as? NSSet)?.count == 1)
    #expect(value("site.birds.@sum.tally", wren) as? Int == 14)
    #expect(
      NSExpression(format: "sum:(site.birds.tally)").expressionValue(with: wren, context: nil) as? Int == 14)
  }

  @Test("An ordered relationship is an ordered set")
  func ordered() throws {
    let context = try CompanyStand().stocked()
    let department = try context.department("Sales")
    let projects = ["Zebra", "Ant"].map { name in
      let project = CompanyStand.make("Project", context)
      project.setValue(name, forKey: "name")
      return project
    }
    department.setValue(NSOrderedSet(array: projects), forKey: "projects")
    #expect((value("projects.name", department) as? NSOrderedSet)?.array as? [String] == ["Zebra", "Ant"])
  }
}
