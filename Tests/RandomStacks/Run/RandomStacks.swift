import ArgumentParser
import CoreData

/// Random stacks of contexts against a plain reference.
@main
struct RandomStacks: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "random-stacks",
    abstract: "Tells random stories about random models, and compares with a plain reference.",
    discussion: """
      Each model and its story follow from a seed and run in a process of their own, two at once. What does not agree is told \
      with the seed, the model and the steps that led there, after as many steps as possible were left out. The exit code is 1 then.
      """,
    subcommands: [Stories.self, Worker.self], defaultSubcommand: Stories.self)
}
