import Foundation
import SwiftData
import Testing

/// Models that must refer to others, which know nothing of them.
enum Kitchen {
  @Model final class Recipe {
    var name: String
    init(_ name: String) { self.name = name }
  }

  @Model final class Meal {
    var day: Int
    var recipe: Recipe
    init(_ day: Int, _ recipe: Recipe) {
      self.day = day
      self.recipe = recipe
    }
  }
}

@Suite("Required models that are deleted")
struct LostRequirementTests {
  @Test("The save names the model that would lose a required one, and the one that was deleted")
  func deleted() throws {
    let container = try ModelContainer(
      for: Kitchen.Meal.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let recipe = Kitchen.Recipe("soup")
    context.insert(Kitchen.Meal(1, recipe))
    try context.save()
    context.delete(recipe)
    let error = #expect(throws: (any Error).self) { try context.save() }
    #expect(error.map { ($0 as NSError).code } == 1570)
    let text = error?.localizedDescription ?? ""
    #expect(text.contains("would lose its object, Recipe/p"), "\(text)")
    #expect(text.hasPrefix("Meal.recipe of Meal/p"), "\(text)")
    #expect(text.hasSuffix(", which was deleted, and is a required value."), "\(text)")
  }

  @Test("A required model may be deleted when another one has taken its place")
  func replaced() throws {
    let container = try ModelContainer(
      for: Kitchen.Meal.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let (old, new) = (Kitchen.Recipe("soup"), Kitchen.Recipe("stew"))
    let meal = Kitchen.Meal(1, old)
    context.insert(meal)
    context.insert(new)
    try context.save()
    meal.recipe = new
    context.delete(old)
    try context.save()
    let other = ModelContext(container)
    #expect(try other.fetch(FetchDescriptor<Kitchen.Meal>()).map(\.recipe.name) == ["stew"])
  }
}
